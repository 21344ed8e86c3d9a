import { type FetchedRecord, gapRecord } from '../../../../src/core/kafka/recordBatches.ts'
import { noHeaders, type RecordHeaders } from '../../../../src/core/kafka/recordHeaders.ts'

/** A record as a producer sends it. */
export type SentRecord = {
  readonly key: Buffer | string | null
  readonly value: Buffer | string | null
  readonly headers?: RecordHeaders | undefined
}

/** A record in a log. */
export type LogRecord = {
  readonly offset: bigint
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
  readonly appendedAtMs: number
}

export type Compaction = {
  /** Compacts only records below this offset; by default, all but the newest record of the partition. */
  readonly below?: bigint
  /** Also removes deletions. */
  readonly dropTombstones?: boolean
}

/** A batch of one record, or of none at the start and the end of a transaction. */
type Batch = { readonly offset: bigint; readonly record: LogRecord | undefined }

/** A record as Kafka returns it after encoding and decoding. */
const onTheWire = ({ key, value, headers = noHeaders }: SentRecord): Pick<LogRecord, 'key' | 'value' | 'headers'> => ({
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
  headers: noHeaders.followedBy(headers),
})

/** The log of a partition, with the clock of its leader. */
export class PartitionLog {
  /** Clock offset of the partition's leader (ms). */
  clockOffsetMs = 0
  #low = 0n
  #high = 0n
  #batches: Batch[] = []
  /** The first offset of the open transaction. */
  #openFrom: bigint | undefined

  /** The first offset. */
  get low(): bigint {
    return this.#low
  }

  /** The log end offset. */
  get high(): bigint {
    return this.#high
  }

  /** The last stable offset: later records are readable once the open transaction has ended. */
  get stable(): bigint {
    return this.#openFrom ?? this.#high
  }

  /** Begins a transaction with a record that will never be committed. */
  beginTransaction(): void {
    this.#openFrom ??= this.#appendEmpty()
  }

  endTransaction(): void {
    if (this.#openFrom === undefined) return
    this.#openFrom = undefined
    this.#appendEmpty()
  }

  /** The present records, in order. */
  records(): LogRecord[] {
    return this.#batches.flatMap(({ record }) => record ?? [])
  }

  /** The offset of the first record with an append time that is not below this one (epoch ms). */
  firstNotBefore(ms: number): bigint | undefined {
    return this.#batches.find(({ record }) => record !== undefined && record.appendedAtMs >= ms)?.offset
  }

  append(produced: SentRecord, nowMs: number): LogRecord {
    const { key, value, headers } = onTheWire(produced)
    const record = { offset: this.#high, key, value, headers, appendedAtMs: nowMs + this.clockOffsetMs }
    this.#batches.push({ offset: record.offset, record })
    this.#high += 1n
    return record
  }

  /** The number of readable batches from an offset on. */
  countFrom(offset: bigint): number {
    return Math.max(0, this.#indexOf(this.stable) - this.#indexOf(offset))
  }

  /** The first `count` batches from an offset on, as the product's fetch decoder returns them. */
  fetch(offset: bigint, count: number): FetchedRecord[] {
    const start = this.#indexOf(offset)
    let next = offset
    return this.#batches.slice(start, start + count).flatMap((batch) => {
      const missing = batch.offset > next ? [gapRecord(batch.offset - 1n)] : []
      next = batch.offset + 1n
      const fetched = {
        offset: String(batch.offset),
        key: batch.record?.key ?? null,
        value: batch.record?.value ?? null,
        headers: batch.record?.headers ?? noHeaders,
        timestamp: String(batch.record?.appendedAtMs ?? 0),
        isControlRecord: batch.record === undefined,
      }
      return [...missing, fetched]
    })
  }

  /** Removes each record that has a newer one of its key, within the bounds of `options`. */
  compact({ below = this.#high - 1n, dropTombstones = false }: Compaction): void {
    const newest = new Map<string, bigint>()
    for (const { offset, key } of this.records()) if (offset < below) newest.set(keyText(key), offset)
    const isKept = ({ offset, key, value }: LogRecord): boolean =>
      offset >= below || (newest.get(keyText(key)) === offset && !(dropTombstones && value === null))
    this.#batches = this.#batches.filter(({ offset, record }) =>
      // The active segment is not compacted.
      record === undefined ? offset === this.#high - 1n : isKept(record),
    )
  }

  /** Removes all records of each key whose newest record is a deletion. */
  forgetDeletions(): void {
    const newest = new Map(this.records().map((record) => [keyText(record.key), record]))
    this.#batches = this.#batches.filter(({ record }) => {
      const last = newest.get(keyText(record?.key ?? null))
      // The active segment is not compacted.
      return record === undefined || last?.value !== null || last.offset === this.#high - 1n
    })
  }

  /** Deletes the records below an offset, as retention does. */
  deleteBelow(offset: bigint): void {
    this.#low = offset
    this.#batches = this.#batches.filter((batch) => batch.offset >= offset)
  }

  #appendEmpty(): bigint {
    const offset = this.#high
    this.#batches.push({ offset, record: undefined })
    this.#high += 1n
    return offset
  }

  #indexOf(offset: bigint): number {
    let [from, to] = [0, this.#batches.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#batches[middle]?.offset ?? offset) < offset) from = middle + 1
      else to = middle
    }
    return from
  }
}

const keyText = (key: Buffer | null): string => key?.toString('hex') ?? 'null'
