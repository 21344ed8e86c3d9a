import { createRequire } from 'node:module'
import { crc32c } from '@node-rs/crc32'
import type { KafkaMessage } from 'kafkajs'
import { decompressRecords } from './recordCompression.ts'

/** A record as KafkaJS's decoder returns it. */
export type FetchedRecord = KafkaMessage & {
  readonly isControlRecord: boolean
  /** Missing on a record that stands for a batch. */
  readonly batchContext?: { readonly producerId: string; readonly inTransaction: boolean }
  /** Set on a record that stands for a batch that cannot be decoded; always the last of its fetch. */
  readonly undecodable?: Undecodable
}

/** Why a record batch cannot be decoded; the message names its offsets. */
export class Undecodable extends Error {
  override readonly name = 'Undecodable'
}

/** Why a record stands for an undecodable batch; undefined for an ordinary record. */
export const undecodableOf = (message: KafkaMessage): Undecodable | undefined =>
  (message as Partial<FetchedRecord>).undecodable

/** A batch that decompresses to more is undecodable. */
const maxBatchBytes = 256 * 1024 * 1024
/** Decoding of a partition stops before the next batch above this many decompressed bytes; the rest is fetched again. */
const maxPartitionBytes = 4 * 1024 * 1024

type KafkaJsDecoder = {
  offset: number
  readInt32(): number
  readBytes(length: number): Buffer
  canReadBytes(length: number): boolean
  readVarIntBytes(): Buffer
}
type DecodeRecord = (decoder: KafkaJsDecoder, batch: object) => FetchedRecord

const load = createRequire(import.meta.url)
const Decoder = load('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => KafkaJsDecoder
const decodeRecord = load('kafkajs/src/protocol/recordBatch/record/v0/decoder') as DecodeRecord

/** Offset, length, leader epoch and magic: how every version of the format begins. */
const commonHeaderBytes = 17
const lengthEndsAt = 12
const currentMagic = 2
/** The CRC covers a batch from this byte on. */
const checkedFrom = 21
const headerBytes = 61

/**
 * Decodes the records of one partition in a fetch response, up to the first batch that is cut off, undecodable, or beyond
 * `maxPartitionBytes`. Never rejects, because the response has records of other partitions, too.
 *
 * The format: https://kafka.apache.org/documentation/#recordbatch
 */
export async function decodePartition(answer: KafkaJsDecoder): Promise<FetchedRecord[]> {
  const size = answer.readInt32()
  if (size <= 0 || !answer.canReadBytes(size)) return []
  const bytes = answer.readBytes(size)
  const decoded: FetchedRecord[][] = []
  let decodedBytes = 0
  for (let rest = bytes; rest.length > 0 && decodedBytes < maxPartitionBytes; ) {
    // Where the header itself is cut off, its own length.
    const batchBytes = Math.max(headerBytes, rest.length < lengthEndsAt ? 0 : lengthEndsAt + rest.readInt32BE(8))
    const batch = rest.subarray(0, batchBytes)
    // A fetch may cut off its last batch, but never its first: if that is cut off, its length is wrong.
    if (batch.length < batchBytes && decoded.length > 0) break
    try {
      if (batch.length < batchBytes) throw new Error('it is cut off')
      const { records, recordBytes } = await decodeBatch(batch)
      decoded.push(records)
      decodedBytes += recordBytes
    } catch (error) {
      decoded.push([undecodableRecord(`the record batch ${offsetsOf(batch)} cannot be decoded`, error)])
      break
    }
    rest = rest.subarray(batch.length)
  }
  return decoded.flat()
}

async function decodeBatch(batch: Buffer) {
  const magic = batch.readInt8(commonHeaderBytes - 1)
  if (magic !== currentMagic) throw new Error(`its format, version ${magic}, is unknown`)
  if (crc32c(batch.subarray(checkedFrom)) !== batch.readUInt32BE(commonHeaderBytes))
    throw new Error('its checksum is wrong')
  const attributes = batch.readInt16BE(21)
  const batchContext = {
    firstOffset: String(batch.readBigInt64BE(0)),
    lastOffset: lastOffsetOf(batch),
    magicByte: magic,
    timestampType: (attributes >> 3) & 0x01,
    inTransaction: (attributes & 0x10) !== 0,
    isControlBatch: (attributes & 0x20) !== 0,
    firstTimestamp: String(batch.readBigInt64BE(27)),
    maxTimestamp: String(batch.readBigInt64BE(35)),
    producerId: String(batch.readBigInt64BE(43)),
  }
  const count = batch.readInt32BE(57)
  // Compaction may leave a batch without records; then there is nothing to decompress.
  const body = batch.subarray(headerBytes)
  const bytes = count === 0 ? body : await decompressRecords(attributes & 0x07, body, maxBatchBytes)
  const decoder = new Decoder(bytes)
  const records: FetchedRecord[] = []
  while (records.length < count) records.push(decodeRecord(new Decoder(decoder.readVarIntBytes()), batchContext))
  if (count > 0 && decoder.offset !== bytes.length) throw new Error(`it is longer than its ${count} records`)
  // Compaction may have removed the last record, or emptied the batch of an idempotent producer. KafkaJS would fetch the missing offset
  // for ever; a control record makes it move on.
  const { lastOffset: offset } = batchContext
  if (records.at(-1)?.offset !== offset) records.push({ ...placeholder, offset, isControlRecord: true, batchContext })
  return { records, recordBytes: bytes.length }
}

const placeholder = { key: null, value: null, headers: {}, timestamp: '0', attributes: 0 }

/** The offset of undecodable records, because KafkaJS drops records below the requested offset. */
const highestOffset = String(2n ** 63n - 1n)
/** A record that stands for an undecodable batch; `what` names the batch in the error. */
export const undecodableRecord = (what: string, cause?: unknown): FetchedRecord => ({
  ...placeholder,
  offset: highestOffset,
  isControlRecord: false,
  undecodable: new Undecodable(cause === undefined ? what : `${what}: ${(cause as Error).message}`, { cause }),
})

const lastOffsetOf = (batch: Buffer): string => String(batch.readBigInt64BE(0) + BigInt(batch.readInt32BE(23)))

function offsetsOf(batch: Buffer): string {
  if (batch.length < headerBytes) return 'that was fetched'
  const [first, magic] = [batch.readBigInt64BE(0), batch.readInt8(commonHeaderBytes - 1)]
  return magic === currentMagic ? `at offsets ${first} to ${lastOffsetOf(batch)}` : `at offset ${first}`
}

/** `firstOffset`: offset of the transaction's first record in this partition. */
type AbortedTransaction = { readonly producerId: string; readonly firstOffset: string }

const notTransactional = { producerId: '', inTransaction: false }
/** The key of a control record that ends an aborted transaction: version 0, type 0. */
const abortMarkerKey = Buffer.from([0, 0, 0, 0])

/**
 * Turns the records of aborted transactions into control records, which KafkaJS does not deliver. A transaction has all records of its
 * producer from `firstOffset` to the abort marker. A fetch may begin inside several transactions.
 */
export function withoutAborted(records: readonly FetchedRecord[], transactions: readonly AbortedTransaction[]) {
  if (transactions.length === 0) return records
  const toCome = transactions.toSorted((a, b) => Number(BigInt(a.firstOffset) - BigInt(b.firstOffset)))
  const aborted = new Set<string>()
  return records.map((record) => {
    const { offset, key, isControlRecord, batchContext: { producerId, inTransaction } = notTransactional } = record
    for (; toCome[0] !== undefined && BigInt(toCome[0].firstOffset) <= BigInt(offset); toCome.shift())
      aborted.add(toCome[0].producerId)
    if (!isControlRecord && inTransaction && aborted.has(producerId)) return { ...record, isControlRecord: true }
    if (isControlRecord && key?.equals(abortMarkerKey)) aborted.delete(producerId)
    return record
  })
}
