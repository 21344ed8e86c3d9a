import type { KafkaMessage } from 'kafkajs'
import { type Branded, type Offset, toOffset } from '../model/ids.ts'
import { clampToInstants } from '../model/instant.ts'

export type TopicPartition = { readonly topic: string; readonly partition: number }

/** `<topic>/<partition>`: the key of maps by partition, and of fields in Redis. */
export const partitionName = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`

/** Partition and offset of a record, as text that sorts by offset within a partition. */
export type AppendPosition = Branded<string, 'AppendPosition'>

const [partitionDigits, offsetDigits] = [10, 19]

export const appendPositionOf = ({ partition, offset }: { partition: number; offset: bigint }): AppendPosition =>
  `${String(partition).padStart(partitionDigits, '0')}/${String(offset).padStart(offsetDigits, '0')}` as AppendPosition

/** Record headers; a name may have several values. */
export type RecordHeaders = Record<string, Buffer | string | (Buffer | string)[] | undefined>

export type SourceRecord = TopicPartition & {
  readonly offset: Offset
  readonly appendedAtMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
}

/** Converts a record of KafkaJS. */
export const sourceRecord = (topic: string, partition: number, message: KafkaMessage): SourceRecord => ({
  topic,
  partition,
  offset: toOffset(message.offset),
  // Without log-append time, the producer sets the timestamp, to any number.
  appendedAtMs: clampToInstants(Number(message.timestamp)),
  key: message.key,
  value: message.value,
  headers: writableHeaders(message.headers ?? {}),
})

/**
 * Headers that KafkaJS can produce again: it rejects null values, which become empty, and it adds a function to the values of a header
 * named like a member of every object, such as `toString`.
 */
const writableHeaders = (headers: RecordHeaders): RecordHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const values = [value].flat().filter((each: unknown) => typeof each !== 'function')
      return [name, values.map((each) => each ?? Buffer.alloc(0))]
    }),
  )
