import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'

/**
 * An estimate of the memory (bytes) of a record in flight: key, headers, three times the value (as received, and in both of its documents), and 1 KiB for
 * objects.
 */
export const recordBytes = ({ key, value, headers }: SourceRecord): number =>
  (key?.length ?? 0) + 3 * (value?.length ?? 0) + headers.bytes.length + 1_024

/** The memory (bytes) of a record that is processed, but stays in the offset tracker until every earlier record of its partition is processed. */
export const trackedBytes = 128

/** The part of all bytes that is reserved for each topic. */
const reservedShare = 1 / 8

/**
 * Bounds the bytes of records in flight (fetched, and not yet processed): an eighth is reserved for each topic, and all topics share the rest. Example: a shard
 * accepts no writes, and submissions fill their reserved bytes and all shared bytes. The revocation of an account key is still read and applied, in the bytes
 * that are reserved for `account-keys`.
 */
export class InFlightBytes {
  readonly #reservedBytes: number
  readonly #sharedBytes: number
  readonly #bytesByTopic: Map<string, number>

  constructor(maxBytes: number, topics: readonly string[]) {
    this.#reservedBytes = maxBytes * reservedShare
    this.#sharedBytes = maxBytes - this.#reservedBytes * topics.length
    this.#bytesByTopic = new Map(topics.map((topic) => [topic, 0]))
  }

  /** The bytes of all records in flight. */
  get total(): number {
    return this.#sum((bytes) => bytes)
  }

  /** Adds bytes of a record that was read; when it is processed, they are added again as a negative number. */
  add(topic: string, bytes: number): void {
    this.#bytesByTopic.set(topic, (this.#bytesByTopic.get(topic) ?? 0) + bytes)
  }

  /** Whether another record of the topic may be read. Its size does not count: otherwise a record larger than the bound would never be read. */
  hasRoom(topic: string): boolean {
    return this.#hasRoomFor(topic, 0)
  }

  /** Whether a paused topic may be resumed: half of its reserved bytes have room. With less room, it would be paused again at once. */
  hasRoomToResume(topic: string): boolean {
    return this.#hasRoomFor(topic, this.#reservedBytes / 2)
  }

  #hasRoomFor(topic: string, bytes: number): boolean {
    const topicBytes = this.#bytesByTopic.get(topic) ?? 0
    if (topicBytes + bytes < this.#reservedBytes) return true
    const usedSharedBytes = this.#sum((usedBytes) => Math.max(0, usedBytes - this.#reservedBytes))
    return usedSharedBytes + bytes < this.#sharedBytes
  }

  /** The sum of `term` over the bytes of every topic. */
  #sum(term: (topicBytes: number) => number): number {
    let sum = 0
    for (const topicBytes of this.#bytesByTopic.values()) sum += term(topicBytes)
    return sum
  }
}
