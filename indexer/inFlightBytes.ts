import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'

/** Estimates the memory (bytes) of a record in flight: key, headers, three times the value (as received, and in both documents), and 1 KiB for objects. */
export const recordBytes = ({ key, value, headers }: SourceRecord): number =>
  (key?.length ?? 0) + 3 * (value?.length ?? 0) + headers.bytes.length + 1_024

/** The memory (bytes) of a processed record that an earlier record keeps in the offset tracker. */
export const trackedBytes = 128

const reservedShare = 1 / 8

/**
 * Bounds the bytes of records in flight: an eighth is reserved for each topic, and all topics share the rest. So the revocation of an account key is applied
 * even if a shard accepts no writes, and submissions fill all shared bytes.
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

  get total(): number {
    return this.#sum((bytes) => bytes)
  }

  /** Called again with a negative number when the record is processed. */
  add(topic: string, bytes: number): void {
    this.#bytesByTopic.set(topic, (this.#bytesByTopic.get(topic) ?? 0) + bytes)
  }

  /** The size of the next record does not count: otherwise a record larger than the bound would never be read. */
  hasRoom(topic: string): boolean {
    return this.#hasRoomFor(topic, 0)
  }

  /** Requires half of the topic's reserved bytes: with less room, it would be paused again at once. */
  hasRoomToResume(topic: string): boolean {
    return this.#hasRoomFor(topic, this.#reservedBytes / 2)
  }

  #hasRoomFor(topic: string, bytes: number): boolean {
    const topicBytes = this.#bytesByTopic.get(topic) ?? 0
    if (topicBytes + bytes < this.#reservedBytes) return true
    const usedSharedBytes = this.#sum((usedBytes) => Math.max(0, usedBytes - this.#reservedBytes))
    return usedSharedBytes + bytes < this.#sharedBytes
  }

  #sum(term: (topicBytes: number) => number): number {
    let sum = 0
    for (const topicBytes of this.#bytesByTopic.values()) sum += term(topicBytes)
    return sum
  }
}
