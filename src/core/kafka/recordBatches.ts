import { setImmediate as letOtherEventsRun } from 'node:timers/promises'
import { crc32c } from '@node-rs/crc32'
import { RecordBytes } from './recordBytes.ts'
import { decompressRecords } from './recordCompression.ts'
import { noHeaders, RecordHeaders } from './recordHeaders.ts'

/* Decodes the record batches in a broker's answer to a fetch. KafkaJS then continues after the last record that it gets. */

/** A record, or a placeholder without content, after whose offset KafkaJS continues. */
export type FetchedRecord = {
  readonly offset: string
  /** Epoch ms. */
  readonly timestamp: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
  /** Also of records of aborted transactions: KafkaJS delivers neither. */
  readonly isControlRecord: boolean
  readonly batchContext?: { readonly producerId: string; readonly inTransaction: boolean }
  /** Marks a placeholder of compacted records, with the offset of the last one. */
  readonly isGap?: true
  /** Marks a placeholder of a control record or aborted record, with its offset and timestamp. */
  readonly isSkipped?: true
  /** Set in a placeholder of a batch that cannot be decoded, always the last of its partition in a fetch. */
  readonly undecodable?: Undecodable
}

export class Undecodable extends Error {
  override readonly name = 'Undecodable'
}

const maxBatchBytes = 256 * 1024 * 1024
/** After this many decompressed bytes of a partition, decoding stops before the next batch, which the consumer fetches again. */
const maxPartitionBytes = 4 * 1024 * 1024
/** Decoding also stops after this many records, even within a batch: 25 KB, compressed, may contain millions. */
const maxPartitionRecords = 50_000
/** After this many records or headers, the decoder lets other events run. */
const recordsPerTurn = 5_000
const headersPerTurn = 50_000

/** In every version: first offset (8 bytes), length of the rest (4), leader epoch (4), version of the format, magic (1). */
const commonHeaderBytes = 17
const lengthEndsAt = 12
const currentMagic = 2
const checkedFrom = 21
const headerBytes = 61

/** Every offset from `from` to below `next` has a record or a placeholder. */
type DecodedOffsets = { readonly from: bigint; next: bigint }

/**
 * Decodes the records of one partition in a fetch response, from the offset `from` on, until a bound or a batch that is cut off or undecodable. Never rejects:
 * one damaged batch would fail the other partitions, too.
 * The format: https://kafka.apache.org/documentation/#recordbatch
 */
export async function decodePartition(bytes: Buffer, from = 0n): Promise<FetchedRecord[]> {
  const records: FetchedRecord[] = []
  const offsets: DecodedOffsets = { from, next: from }
  let decodedBytes = 0
  for (let rest = bytes; rest.length > 0 && decodedBytes < maxPartitionBytes; ) {
    const statedBytes = rest.length < lengthEndsAt ? 0 : lengthEndsAt + rest.readInt32BE(8)
    const batchBytes = Math.max(headerBytes, statedBytes)
    const batch = rest.subarray(0, batchBytes)
    const countBefore = records.length
    // A broker may cut off the last batch of a fetch, but never the first, whose length must then be wrong.
    if (batch.length < batchBytes && rest !== bytes) break
    try {
      if (batch.length < batchBytes) throw new Error('it is cut off')
      decodedBytes += await decodeBatch(batch, offsets, records)
    } catch (error) {
      records.length = countBefore
      records.push(undecodableRecord(`the record batch ${placeOf(batch)} cannot be decoded`, error))
      break
    }
    if (records.length >= maxPartitionRecords) break
    rest = rest.subarray(batch.length)
  }
  return records
}

type BatchHeader = {
  readonly firstOffset: bigint
  readonly firstTimestamp: bigint
  /** Of all records, if the broker sets it. */
  readonly appendTimestamp: bigint | undefined
  readonly isControlRecord: boolean
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean }
}

/** Advances `offsets`. Resolves with the decompressed bytes. */
async function decodeBatch(batch: Buffer, offsets: DecodedOffsets, records: FetchedRecord[]): Promise<number> {
  const magic = batch.readInt8(commonHeaderBytes - 1)
  if (magic !== currentMagic) throw new Error(`its format, version ${magic}, is unknown`)
  if (crc32c(batch.subarray(checkedFrom)) !== batch.readUInt32BE(commonHeaderBytes))
    throw new Error('its checksum is wrong')
  const attributes = batch.readInt16BE(21)
  const header: BatchHeader = {
    firstOffset: batch.readBigInt64BE(0),
    firstTimestamp: batch.readBigInt64BE(27),
    appendTimestamp: (attributes & 0x08) === 0 ? undefined : batch.readBigInt64BE(35),
    isControlRecord: (attributes & 0x20) !== 0,
    batchContext: { producerId: String(batch.readBigInt64BE(43)), inTransaction: (attributes & 0x10) !== 0 },
  }
  const count = batch.readInt32BE(57)
  if (count < 0) throw new Error(`its number of records is ${count}`)
  // Compaction may leave a batch without records, whose empty body is not valid gzip.
  const body = batch.subarray(headerBytes)
  const decompressed = count === 0 ? body : await decompressRecords(attributes & 0x07, body, maxBatchBytes)
  const bytes = new RecordBytes(decompressed)
  for (let read = 0; read < count; read++) {
    if (records.length >= maxPartitionRecords) return decompressed.length
    if (read % recordsPerTurn === recordsPerTurn - 1) await letOtherEventsRun()
    const record = await decodeRecord(bytes, header, offsets.from)
    if (record !== undefined) addWithGap(record, offsets, records)
    bytes.end = decompressed.length
  }
  if (count > 0 && bytes.at !== decompressed.length) throw new Error(`it is longer than its ${count} records`)
  // Without a placeholder for compacted records at the end, KafkaJS would fetch them for ever.
  const last = lastOffsetOf(batch)
  if (offsets.next <= last) {
    records.push(gapRecord(last))
    offsets.next = last + 1n
  }
  return decompressed.length
}

function addWithGap(record: FetchedRecord, offsets: DecodedOffsets, records: FetchedRecord[]): void {
  const offset = BigInt(record.offset)
  if (offset > offsets.next) records.push(gapRecord(offset - 1n))
  records.push(record)
  offsets.next = offset + 1n
}

async function decodeRecord(bytes: RecordBytes, header: BatchHeader, from: bigint): Promise<FetchedRecord | undefined> {
  const length = bytes.varint()
  if (length < 0 || length > bytes.end - bytes.at) throw new Error('a record is cut off')
  bytes.end = bytes.at + length
  // Attributes, unused.
  bytes.skip(1)
  const timestampDelta = bytes.varlong()
  const offset = header.firstOffset + BigInt(bytes.varint())
  if (offset < from) {
    bytes.at = bytes.end
    return undefined
  }
  const key = bytes.nullableBytes()
  const value = bytes.nullableBytes()
  const count = bytes.varint()
  // A header has two lengths.
  if (count < 0 || count > (bytes.end - bytes.at) / 2) throw new Error(`a record cannot have ${count} headers`)
  const headersFrom = bytes.at
  for (let remaining = count; remaining > 0; remaining -= headersPerTurn) {
    if (remaining < count) await letOtherEventsRun()
    bytes.skipHeaders(Math.min(remaining, headersPerTurn))
  }
  if (bytes.at !== bytes.end) throw new Error(`a record is longer than its ${count} headers`)
  const { appendTimestamp, firstTimestamp, isControlRecord, batchContext } = header
  const timestamp = String(appendTimestamp ?? firstTimestamp + timestampDelta)
  const headers = count === 0 ? noHeaders : new RecordHeaders(count, bytes.slice(headersFrom))
  return { offset: String(offset), timestamp, key, value, headers, isControlRecord, batchContext }
}

const placeholder = { key: null, value: null, headers: noHeaders, timestamp: '0' }

/** Stands for removed records up to the offset `last`. */
export const gapRecord = (last: bigint): FetchedRecord => ({
  ...placeholder,
  offset: String(last),
  isControlRecord: false,
  isGap: true,
})

/**
 * Turns records with `isControlRecord` into placeholders. KafkaJS would drop them, and with them their timestamps, which tell until when the partition was
 * read.
 */
export function withSkipped(records: readonly FetchedRecord[]): readonly FetchedRecord[] {
  if (!records.some(({ isControlRecord }) => isControlRecord)) return records
  return records.map((record) => {
    const { offset, timestamp, isControlRecord } = record
    return isControlRecord ? { ...placeholder, offset, timestamp, isControlRecord: false, isSkipped: true } : record
  })
}

/** False for the placeholder of an undecodable batch, which is an error. */
export const isPlaceholder = ({ isControlRecord, isGap, isSkipped }: FetchedRecord): boolean =>
  isControlRecord || isGap === true || isSkipped === true

/** KafkaJS drops records below the requested offset, and a damaged batch may have wrong offsets. */
const highestOffset = String(2n ** 63n - 1n)

/** The placeholder of a batch that cannot be decoded. */
export const undecodableRecord = (problem: string, cause?: unknown): FetchedRecord => ({
  ...placeholder,
  offset: highestOffset,
  isControlRecord: false,
  undecodable: new Undecodable(cause === undefined ? problem : `${problem}: ${(cause as Error).message}`, { cause }),
})

const lastOffsetOf = (batch: Buffer): bigint => batch.readBigInt64BE(0) + BigInt(batch.readInt32BE(23))

function placeOf(batch: Buffer): string {
  if (batch.length < headerBytes) return 'that was fetched'
  const first = batch.readBigInt64BE(0)
  const magic = batch.readInt8(commonHeaderBytes - 1)
  return magic === currentMagic ? `at offsets ${first} to ${lastOffsetOf(batch)}` : `at offset ${first}`
}

/** `firstOffset`: in this partition. */
type AbortedTransaction = { readonly producerId: string; readonly firstOffset: string }

const notTransactional = { producerId: '', inTransaction: false }
const abortMarkerKey = Buffer.from([0, 0, 0, 0])

/**
 * Marks the records of aborted transactions as control records, which are not delivered: all transactional records of a producer from `firstOffset` to its
 * abort marker.
 */
export function withoutAborted(records: readonly FetchedRecord[], transactions: readonly AbortedTransaction[]) {
  if (transactions.length === 0) return records
  const upcoming = transactions.toSorted((a, b) => Number(BigInt(a.firstOffset) - BigInt(b.firstOffset)))
  const abortedProducers = new Set<string>()
  return records.map((record) => {
    const { offset, key, isControlRecord } = record
    const { producerId, inTransaction } = record.batchContext ?? notTransactional
    for (; upcoming[0] !== undefined && BigInt(upcoming[0].firstOffset) <= BigInt(offset); upcoming.shift())
      abortedProducers.add(upcoming[0].producerId)
    const isAborted = !isControlRecord && inTransaction && abortedProducers.has(producerId)
    if (isAborted) return { ...record, isControlRecord: true }
    if (isControlRecord && key?.equals(abortMarkerKey)) abortedProducers.delete(producerId)
    return record
  })
}
