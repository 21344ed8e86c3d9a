import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'

/** The memory (bytes) of a record in flight: key, headers and value as received, and about the value again in each of its two documents. */
export const recordBytes = ({ key, value, headers }: SourceRecord): number =>
  (key?.length ?? 0) + 3 * (value?.length ?? 0) + headers.bytes.length + 1_024

/** The memory (bytes) of a processed record while an earlier record of its partition is not processed. */
export const trackedBytes = 128

const reservedShare = 1 / 8

/**
 * Bounds the bytes of records in flight: a share is reserved for each topic, and all topics share the rest. Example: a shard takes no writes, and
 * submissions in flight fill all shared bytes. A revocation in `account-keys` is still read and applied, in the bytes of its own topic.
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

  /** Adds to the bytes in flight of a topic; `bytes` is negative when a record is processed. */
  take(topic: string, bytes: number): void {
    this.#taken.set(topic, (this.#taken.get(topic) ?? 0) + bytes)
  }

  /** Whether another record of the topic, of any size, may be taken. */
  has(topic: string): boolean {
    return this.#hasLeft(topic, 0)
  }

  /** Whether there is room for enough records of the topic to resume fetching it. */
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
