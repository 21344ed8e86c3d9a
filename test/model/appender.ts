import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Kafka, type Producer, type RecordMetadata } from 'kafkajs'
import type { Draft, Entry, SentJournal } from './journal.ts'

const partitions = [0, 1, 2, 3]
const againMs = 250
const metadataMaxAgeMs = 5_000
const partitionOf = kafkajs.Partitioners.DefaultPartitioner()

/** Appends in order, retries until Kafka acknowledges, and journals every record with its offset. */
export class Appender {
  /** The records of this appender; append times never decrease. */
  readonly entries: Entry[] = []
  readonly #producer: Producer
  readonly #journal: SentJournal
  readonly #names: Readonly<Record<string, string>>
  readonly #signal: AbortSignal

  constructor(kafka: Kafka, journal: SentJournal, names: Readonly<Record<string, string>>, signal: AbortSignal) {
    const retry = { retries: 2, initialRetryTime: 100 }
    // KafkaJS sends to a frozen leader until its metadata expires, by default after five minutes.
    this.#producer = kafka.producer({ allowAutoTopicCreation: false, retry, metadataMaxAge: metadataMaxAgeMs })
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
    const byPartition = Map.groupBy(drafts, (draft) => choosePartition(name, draft))
    // One send per partition: of a send to several brokers, KafkaJS can lose what one of them did not acknowledge.
    const sent = await Promise.all(
      [...byPartition].map(async ([partition, some]) => ({ some, ...(await this.#untilSent(name, partition, some)) })),
    )
    // A leader stamps a record before its replicas have it, and hides the record while one of them is cut off.
    const atMs = Math.max(Date.now(), ...sent.map(({ logAppendTime }) => Number(logAppendTime)))
    for (const { some, partition, baseOffset = '' } of sent)
      for (const [at, draft] of some.entries())
        this.entries.push(
          this.#journal.acknowledge(draft, { partition, offset: BigInt(baseOffset) + BigInt(at), atMs }),
        )
  }

  async #untilSent(topic: string, partition: number, drafts: readonly Draft[]): Promise<RecordMetadata> {
    for (;;) {
      this.#signal.throwIfAborted()
      try {
        await this.#producer.connect()
        const messages = drafts.map(({ key, value }) => ({ key, value, partition }))
        const [sent] = await this.#producer.send({ topic, acks: -1, messages })
        if (sent === undefined) throw new Error('nothing was acknowledged')
        return { ...sent, partition }
      } catch {
        await sleep(againMs, undefined, { signal: this.#signal })
      }
    }
  }
}

const choosePartition = (topic: string, { key, value }: Draft): number => {
  const partitionMetadata = partitions.map((partitionId) => {
    return { partitionErrorCode: 0, partitionId, leader: 0, replicas: [], isr: [] }
  })
  return partitionOf({ topic, partitionMetadata, message: { key, value } })
}
