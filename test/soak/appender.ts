import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Kafka, type Producer, type RecordMetadata } from 'kafkajs'
import type { Draft, Entry, Journal } from './journal.ts'

const partitions = [0, 1, 2, 3]
const againMs = 250
const partitionOf = kafkajs.Partitioners.DefaultPartitioner()

/** Appends in order, tries until Kafka acknowledges, and knows the place of every record. */
export class Appender {
  /** What this one appended; append times never decrease. */
  readonly entries: Entry[] = []
  readonly #producer: Producer
  readonly #journal: Journal
  readonly #names: Readonly<Record<string, string>>
  readonly #signal: AbortSignal

  constructor(kafka: Kafka, journal: Journal, names: Readonly<Record<string, string>>, signal: AbortSignal) {
    this.#producer = kafka.producer({ allowAutoTopicCreation: false, retry: { retries: 2, initialRetryTime: 100 } })
    this.#journal = journal
    this.#names = names
    this.#signal = signal
  }

  async append(drafts: readonly Draft[]): Promise<void> {
    this.#journal.send(drafts)
    for (const topic of ['forms', 'submissions'] as const) {
      const some = drafts.filter((draft) => draft.topic === topic)
      if (some.length > 0) await this.#appendTo(topic, some)
    }
  }

  async close(): Promise<void> {
    await this.#producer.disconnect()
  }

  async #appendTo(topic: Draft['topic'], drafts: readonly Draft[]): Promise<void> {
    const name = this.#names[`TOPIC_${topic.toUpperCase()}`] ?? ''
    const messages = drafts.map((draft) => ({ ...draft, partition: choosePartition(name, draft) }))
    const sent = await this.#untilSent(name, messages)
    const next = new Map(sent.map(({ partition, baseOffset }) => [partition, BigInt(baseOffset ?? '')]))
    const atMs = Math.max(...sent.map(({ logAppendTime }) => Number(logAppendTime)))
    for (const { partition, ...draft } of messages) {
      const offset = next.get(partition) ?? 0n
      next.set(partition, offset + 1n)
      this.entries.push(this.#journal.acknowledge(draft, { partition, offset, atMs }))
    }
  }

  async #untilSent(
    topic: string,
    messages: readonly { key: Buffer; value: Buffer | null; partition: number }[],
  ): Promise<RecordMetadata[]> {
    for (;;) {
      this.#signal.throwIfAborted()
      try {
        await this.#producer.connect()
        return await this.#producer.send({
          topic,
          acks: -1,
          messages: messages.map(({ key, value, partition }) => ({ key, value, partition })),
        })
      } catch {
        await sleep(againMs, undefined, { signal: this.#signal })
      }
    }
  }
}

const choosePartition = (topic: string, { key, value }: Draft): number => {
  const partitionMetadata = partitions.map((partitionId) => ({
    partitionErrorCode: 0,
    partitionId,
    leader: 0,
    replicas: [],
    isr: [],
  }))
  return partitionOf({ topic, partitionMetadata, message: { key, value } })
}
