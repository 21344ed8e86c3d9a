import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'

/** Bytes that a record holds while it is in flight: as received, and about as much again in each of its two documents. */
export const recordBytes = ({ key, value }: Pick<SourceRecord, 'key' | 'value'>): number =>
  (key?.length ?? 0) + 3 * (value?.length ?? 0) + 1_024

/** Bytes of these that stay taken once a record is processed, as long as one before it in its partition is not. */
export const trackedBytes = 128

/** Bounds the bytes in flight. `take` never fails and may exceed the bound; callers wait for room before they fetch more. */
export class ByteBudget {
  readonly maxBytes: number
  #takenBytes = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  get takenBytes(): number {
    return this.#takenBytes
  }

  take(bytes: number): void {
    this.#takenBytes += bytes
  }

  release(bytes: number): void {
    this.#takenBytes -= bytes
  }

  hasRoom(): boolean {
    return this.#takenBytes < this.maxBytes
  }
}
