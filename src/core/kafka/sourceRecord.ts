import type { KafkaMessage } from 'kafkajs'
import { type Offset, toOffset } from '../model/ids.ts'
import { clampToInstants } from '../model/instant.ts'

export type TopicPartition = { readonly topic: string; readonly partition: number }

/** `<topic>/<partition>`: the key of maps by partition, also in Redis. */
export const partitionName = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`

/** The headers of a record; one name may have several values. */
export type RecordHeaders = Record<string, Buffer | string | (Buffer | string)[] | undefined>

export type SourceRecord = TopicPartition & {
  readonly offset: Offset
  readonly appendedAtMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
}

export const sourceRecord = (topic: string, partition: number, message: KafkaMessage): SourceRecord => ({
  topic,
  partition,
  offset: toOffset(message.offset),
  // On a topic without log-append time the producer sets the time, to any number.
  appendedAtMs: clampToInstants(Number(message.timestamp)),
  key: message.key,
  value: message.value,
  headers: writableHeaders(message.headers ?? {}),
})

/**
 * Headers that KafkaJS can write again: it fails on a null value, which becomes an empty one, and among the values of a header named
 * like a member of every object (`toString`) it returns that function.
 */
const writableHeaders = (headers: RecordHeaders): RecordHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const values = [value].flat().filter((each: unknown) => typeof each !== 'function')
      return [name, values.map((each) => each ?? Buffer.alloc(0))]
    }),
  )
