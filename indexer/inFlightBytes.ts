import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'

/** An estimate of the memory (bytes) of a record in flight: key, headers, the value as received and in both of its documents, and 1 KiB. */
export const recordBytes = ({ key, value, headers }: SourceRecord): number =>
  (key?.length ?? 0) + 3 * (value?.length ?? 0) + headers.bytes.length + 1_024

/** The memory (bytes) of a processed record in the offset tracker, until every earlier record is processed. */
export const trackedBytes = 128

const reservedShare = 1 / 8

/**
 * Bounds the bytes of records in flight: an eighth is reserved for each topic, and all topics share the rest. Example: a shard accepts no writes, and
 * submissions fill their reserved bytes and all shared ones. A revocation in `account-keys` is still read and applied, in the bytes of its topic.
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

  /** `bytes` is negative when a record is processed. */
  add(topic: string, bytes: number): void {
    this.#bytesByTopic.set(topic, (this.#bytesByTopic.get(topic) ?? 0) + bytes)
  }

  /** Whether another record of the topic, of any size, may be read. */
  hasRoom(topic: string): boolean {
    return this.#hasRoomFor(topic, 0)
  }

  /** Whether there is room for half of the topic's reserved bytes. With less, a resumed topic would be paused again at once. */
  hasRoomToResume(topic: string): boolean {
    return this.#hasRoomFor(topic, this.#reservedBytes / 2)
  }

  #hasRoomFor(topic: string, bytes: number): boolean {
    if ((this.#bytesByTopic.get(topic) ?? 0) + bytes < this.#reservedBytes) return true
    return this.#sum((topicBytes) => Math.max(0, topicBytes - this.#reservedBytes)) + bytes < this.#sharedBytes
  }

  #sum(ofTopic: (bytes: number) => number): number {
    let sum = 0
    for (const bytes of this.#bytesByTopic.values()) sum += ofTopic(bytes)
    return sum
  }
}
