import type { Kafka } from 'kafkajs'
import { type Logger, pino } from 'pino'
import { readConfig } from '../../../../src/core/config/config.ts'
import { connectKafka } from '../../../../src/core/kafka/client.ts'
import type { RecordHeaders } from '../../../../src/core/kafka/recordHeaders.ts'
import { type KafkaSink, kafkaSink } from '../../../../src/core/kafka/sink.ts'
import { type KafkaSource, kafkaSource } from '../../../../src/core/kafka/source.ts'
import type { Host, Network } from '../../network.ts'
import { address, Broker } from './broker.ts'
import { type BrokerPool, replaceSockets } from './connection.ts'
import type { Group } from './group.ts'
import type { Compaction, LogRecord, PartitionLog } from './partitionLog.ts'
import type { Topics } from './topics.ts'

/** A record with its topic and partition. */
type PlacedRecord = LogRecord & { readonly topic: string; readonly partition: number }

/**
 * An in-memory Kafka with one broker. The product's real clients (KafkaJS) run against it; only sockets and broker are simulated.
 * KafkaJS uses `setTimeout` and `Date.now` of the calling process; nothing depends on `Math.random`.
 */
export class SimulatedKafka {
  readonly #broker: Broker

  constructor(host: Host) {
    this.#broker = new Broker(host)
  }

  get topics(): Topics {
    return this.#broker.topics
  }

  group(groupId: string): Group {
    return this.#broker.coordinator.group(groupId)
  }

  /** The Kafka client of a process. */
  client(
    network: Network,
    log: Logger = pino({ level: 'silent' }),
  ): { openSource(): KafkaSource; readonly sink: KafkaSink } {
    const kafka = connectTo(this.#broker, network, log)
    return { openSource: () => kafkaSource(kafka), sink: kafkaSink(kafka) }
  }

  /** Appends a record at once, as an outside producer. */
  append(
    topic: string,
    key: Buffer | string | null,
    value: Buffer | string | null,
    headers?: RecordHeaders,
  ): PlacedRecord {
    const partition = this.topics.partitionOf(topic, key)
    return { topic, partition, ...this.topics.append({ topic, partition }, { key, value, headers }) }
  }

  /** The present records of a topic, partition by partition. */
  log(topic: string): PlacedRecord[] {
    return this.topics
      .partitions(topic)
      .flatMap((log, partition) => log.records().map((record) => ({ topic, partition, ...record })))
  }

  /** The committed offsets of a group. */
  committed(groupId: string): { topic: string; partition: number; offset: bigint; metadata: string | null }[] {
    return this.#broker.coordinator.committed(groupId).map((commit) => ({ ...commit, offset: BigInt(commit.offset) }))
  }

  /** Compacts every partition of a topic. */
  compact(topic: string, compaction: Compaction = {}): void {
    for (const log of this.topics.partitions(topic)) log.compact(compaction)
  }

  /** Compacts only records that a group has committed, like a `min.compaction.lag.ms` above the group's lag. */
  compactCommitted(topic: string, groupId: string): void {
    for (const commit of this.committed(groupId))
      if (commit.topic === topic) this.#log(topic, commit.partition).compact({ below: commit.offset })
  }

  /** Removes deletions and what they deleted, as compaction does after `delete.retention.ms`. */
  forgetDeletions(topic: string): void {
    for (const log of this.topics.partitions(topic)) log.forgetDeletions()
  }

  /** Deletes the records of a partition below an offset, as retention does. */
  deleteBelow(topic: string, partition: number, offset: bigint): void {
    this.#log(topic, partition).deleteBelow(offset)
  }

  /** Sets the clock offset (ms) of a partition's leader, or of all leaders of the topic; append times may step back. */
  setLeaderClockOffset(topic: string, partition: number | undefined, ms: number): void {
    const logs = partition === undefined ? this.topics.partitions(topic) : [this.#log(topic, partition)]
    for (const log of logs) log.clockOffsetMs = ms
  }

  #log(topic: string, partition: number): PartitionLog {
    const log = this.topics.find({ topic, partition })
    if (log === undefined) throw new Error(`${topic}/${partition} is not there`)
    return log
  }
}

/** The product's KafkaJS client, connected to the simulated broker. */
function connectTo(broker: Broker, network: Network, log: Logger): Kafka {
  const read = readConfig({ KAFKA_BROKERS: `${address.host}:${address.port}` }, ['KAFKA_BROKERS'])
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  const kafka = connectKafka(read.config, log)
  // No jitter: retry delays must not depend on Math.random.
  privatePart<{ factor: number }>(kafka, 'clusterRetry').value.factor = 0
  const clusters = privatePart<(options: object) => { readonly brokerPool: BrokerPool }>(kafka, 'createCluster')
  clusters.replace((options) => {
    const cluster = clusters.value(options)
    replaceSockets(cluster.brokerPool, network, (apiName, request) => broker.answer(apiName, request))
    return cluster
  })
  return kafka
}

/** A private member of a KafkaJS client, under a symbol. */
function privatePart<Part>(kafka: Kafka, name: string): { readonly value: Part; replace(part: Part): void } {
  const parts = kafka as unknown as Record<symbol, Part>
  const symbol = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === `private:Kafka:${name}`)
  const value = symbol && parts[symbol]
  if (symbol === undefined || value === undefined) throw new Error(`this release of KafkaJS has no ${name}`)
  return {
    value,
    replace: (part) => {
      parts[symbol] = part
    },
  }
}
