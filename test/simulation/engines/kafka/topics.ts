import { Partitioners } from 'kafkajs'
import type { NewTopic } from '../../../../src/core/kafka/source.ts'
import type { TopicPartition } from '../../../../src/core/kafka/sourceRecord.ts'
import type { Host } from '../../network.ts'
import { type LogRecord, PartitionLog, type SentRecord } from './partitionLog.ts'

const defaultSettings = {
  'cleanup.policy': 'delete',
  'message.timestamp.type': 'CreateTime',
  'max.message.bytes': '1048588',
  'retention.ms': '604800000',
  'delete.retention.ms': '86400000',
}

/** The part of a request that lists topics and partitions, with the request's data for each partition. */
export type ByTopic<Each> = readonly {
  readonly topic: string
  readonly partitions: readonly ({ partition: number } & Each)[]
}[]

type Topic = { readonly settings: Readonly<Record<string, string>>; readonly partitions: PartitionLog[] }

/** The topics of a broker. Notifies waiting fetches of new records. */
export class Topics {
  readonly #host: Host
  readonly #topics = new Map<string, Topic>()
  readonly #waiting = new Set<() => void>()

  constructor(host: Host) {
    this.#host = host
  }

  names(): string[] {
    return [...this.#topics.keys()]
  }

  has(topic: string): boolean {
    return this.#topics.has(topic)
  }

  settings(topic: string): Readonly<Record<string, string>> {
    return this.#get(topic).settings
  }

  partitions(topic: string): readonly PartitionLog[] {
    return this.#topics.get(topic)?.partitions ?? []
  }

  find({ topic, partition }: TopicPartition): PartitionLog | undefined {
    return this.#topics.get(topic)?.partitions[partition]
  }

  create({ topic, partitions, settings }: NewTopic): void {
    if (this.#topics.has(topic)) throw new Error(`${topic} exists`)
    const entries = Object.entries(settings).map(([name, value]) => [name, String(value)])
    this.#topics.set(topic, {
      settings: { ...defaultSettings, ...Object.fromEntries(entries) },
      partitions: Array.from({ length: partitions }, () => new PartitionLog()),
    })
  }

  addPartition(topic: string): void {
    this.#get(topic).partitions.push(new PartitionLog())
  }

  append(at: TopicPartition, record: SentRecord): LogRecord {
    const log = this.find(at)
    if (log === undefined) throw new Error(`${at.topic}/${at.partition} is not there`)
    const appended = log.append(record, this.#host.nowMs())
    this.#tell()
    return appended
  }

  /** Begins a transaction in every partition of a topic, or ends the open one. */
  setTransaction(topic: string, isOpen: boolean): void {
    for (const log of this.partitions(topic)) isOpen ? log.beginTransaction() : log.endTransaction()
    this.#tell()
  }

  /** The partition that a producer chooses for a key. */
  partitionOf(topic: string, key: Buffer | string | null): number {
    const { partitions } = this.#get(topic)
    if (key === null) return Math.floor(this.#host.random() * partitions.length)
    const partitionMetadata = partitions.map((_, partitionId) => ({ ...onlyLeader, partitionId }))
    return Partitioners.DefaultPartitioner()({ topic, partitionMetadata, message: { key, value: null } })
  }

  /** Calls `tell` whenever there may be new records; returns a function that stops it. */
  onAppend(tell: () => void): () => void {
    this.#waiting.add(tell)
    return () => this.#waiting.delete(tell)
  }

  #tell(): void {
    for (const tell of [...this.#waiting]) tell()
  }

  #get(topic: string): Topic {
    const entry = this.#topics.get(topic)
    if (entry === undefined) throw new Error(`${topic} is not there`)
    return entry
  }
}

/** Partition metadata of the only broker. */
export const onlyLeader = { partitionErrorCode: 0, leader: 0, replicas: [0], isr: [0], offlineReplicas: [] }
