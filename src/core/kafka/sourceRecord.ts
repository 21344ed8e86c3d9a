import { type Branded, type Offset, toOffset } from '../model/ids.ts'
import { clampToInstants } from '../model/instant.ts'
import type { FetchedRecord } from './recordBatches.ts'
import { noHeaders, RecordHeaders } from './recordHeaders.ts'

export type TopicPartition = { readonly topic: string; readonly partition: number }

/** `<topic>/<partition>`: the key of maps by partition, and of fields in Redis. */
export const partitionName = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`

/** `<partition>/<offset>`, padded with zeros, so that within a partition the text sorts by offset. */
export type AppendPosition = Branded<string, 'AppendPosition'>

const partitionDigits = 10
const offsetDigits = 19

export const appendPositionOf = ({ partition, offset }: { partition: number; offset: bigint }): AppendPosition =>
  `${String(partition).padStart(partitionDigits, '0')}/${String(offset).padStart(offsetDigits, '0')}` as AppendPosition

/** A record that was read from Kafka. */
export type SourceRecord = TopicPartition & {
  readonly offset: Offset
  /** The record's timestamp (epoch ms). */
  readonly appendedAtMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
}

export const sourceRecord = (topic: string, partition: number, fetched: FetchedRecord): SourceRecord => ({
  topic,
  partition,
  offset: toOffset(fetched.offset),
  // Without log-append time, the producer chooses the timestamp, which may be no valid date.
  appendedAtMs: clampToInstants(Number(fetched.timestamp)),
  key: fetched.key,
  value: fetched.value,
  headers: fetched.headers,
})

/**
 * Copies a record. The buffers of a fetched record are views of the memory of its whole fetch, which may be some hundred mebibytes, and which could not be
 * freed while the record is stored.
 */
export function copiedOut(record: SourceRecord): SourceRecord {
  const { key, value, headers } = record
  const parts = [key, value, headers.bytes]
  // `allocUnsafe` would take a small buffer from Node's pool, a shared slab that could not be freed either.
  const memory = Buffer.allocUnsafeSlow(parts.reduce((bytes, part) => bytes + (part?.length ?? 0), 0))
  let end = 0
  const copy = (part: Buffer): Buffer => {
    const from = end
    end += part.copy(memory, from)
    return memory.subarray(from, end)
  }
  return {
    ...record,
    key: key && copy(key),
    value: value && copy(value),
    headers: headers.count === 0 ? noHeaders : new RecordHeaders(headers.count, copy(headers.bytes)),
  }
}
