import { type Branded, type Offset, toOffset } from '../model/ids.ts'
import { clampToInstants } from '../model/instant.ts'
import type { FetchedRecord } from './recordBatches.ts'
import { noHeaders, RecordHeaders } from './recordHeaders.ts'

export type TopicPartition = { readonly topic: string; readonly partition: number }

/** `<topic>/<partition>`: the key of maps by partition, and of fields in Redis. */
export const partitionName = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`

/** `<partition>/<offset>`, padded with zeros: within a partition, the text sorts by offset. */
export type AppendPosition = Branded<string, 'AppendPosition'>

const partitionDigits = 10
const offsetDigits = 19

export const appendPositionOf = ({ partition, offset }: { partition: number; offset: bigint }): AppendPosition =>
  `${String(partition).padStart(partitionDigits, '0')}/${String(offset).padStart(offsetDigits, '0')}` as AppendPosition

export type SourceRecord = TopicPartition & {
  readonly offset: Offset
  readonly appendedAtMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
}

export const sourceRecord = (topic: string, partition: number, fetched: FetchedRecord): SourceRecord => ({
  topic,
  partition,
  offset: toOffset(fetched.offset),
  // A producer may choose a timestamp that is no valid date.
  appendedAtMs: clampToInstants(Number(fetched.timestamp)),
  key: fetched.key,
  value: fetched.value,
  headers: fetched.headers,
})

/**
 * The buffers of a fetched record are views of the memory of its whole fetch, perhaps some hundred mebibytes, which could not be freed while the record is
 * stored.
 */
export function copiedOut(record: SourceRecord): SourceRecord {
  const { key, value, headers } = record
  const parts = [key, value, headers.bytes]
  // `allocUnsafe` would use a slab of Node's pool, which could not be freed either.
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
