import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'

/** Bytes that a record holds while it is in flight: as received, and about as much again of its value in each of its two documents. */
export const recordBytes = ({ key, value, headers }: SourceRecord): number =>
  (key?.length ?? 0) + 3 * (value?.length ?? 0) + headers.bytes.length + 1_024

/** Bytes of a processed record that stay taken as long as an earlier record of its partition is not processed. */
export const trackedBytes = 128

/** The share of the room that each topic has to itself. */
const reservedShare = 1 / 8

/**
 * The bytes that records in flight may take. A part of it is each topic's own, and the rest is shared: records that wait, because the breaker
 * has paused a topic or a shard takes no writes, must not keep a key from being revoked by a record of another topic.
 */
export class Room {
  readonly #reservedBytes: number
  readonly #sharedBytes: number
  readonly #taken: Map<string, number>

  constructor(maxBytes: number, topics: readonly string[]) {
    this.#reservedBytes = maxBytes * reservedShare
    this.#sharedBytes = maxBytes - this.#reservedBytes * topics.length
    this.#taken = new Map(topics.map((topic) => [topic, 0]))
  }

  get takenBytes(): number {
    return this.#sum((bytes) => bytes)
  }

  /** Takes bytes, or gives them back where `bytes` is negative. */
  take(topic: string, bytes: number): void {
    this.#taken.set(topic, (this.#taken.get(topic) ?? 0) + bytes)
  }

  /** Whether another record of the topic may be taken, of whatever size. */
  has(topic: string): boolean {
    return this.#hasLeft(topic, 0)
  }

  /** Whether there is room for so many records of the topic that it is worth to fetch them again. */
  hasPlenty(topic: string): boolean {
    return this.#hasLeft(topic, this.#reservedBytes / 2)
  }

  #hasLeft(topic: string, bytes: number): boolean {
    if ((this.#taken.get(topic) ?? 0) + bytes < this.#reservedBytes) return true
    return this.#sum((taken) => Math.max(0, taken - this.#reservedBytes)) + bytes < this.#sharedBytes
  }

  #sum(ofTopic: (takenBytes: number) => number): number {
    let sum = 0
    for (const taken of this.#taken.values()) sum += ofTopic(taken)
    return sum
  }
}
