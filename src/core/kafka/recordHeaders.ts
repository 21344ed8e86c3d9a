import { RecordBytes, varintOf } from './recordBytes.ts'

/** The name may be any bytes, and need not be unique. */
export type RecordHeader = {
  readonly name: Buffer
  readonly value: Buffer | null
  readonly from: number
  readonly to: number
}

/**
 * An object would lose the order of headers, repeated names and `__proto__`. Headers become objects only while they are iterated: a record may have a million.
 */
export class RecordHeaders implements Iterable<RecordHeader> {
  readonly count: number
  /** Of each header: length and bytes of its name, length and bytes of its value. */
  readonly bytes: Buffer

  constructor(count: number, bytes: Buffer) {
    this.count = count
    this.bytes = bytes
  }

  static of(headers: Iterable<readonly [name: string | Buffer, value: string | Buffer | null]>): RecordHeaders {
    const parts = [...headers].map(([name, value]) => encodeHeader(name, value))
    return new RecordHeaders(parts.length, Buffer.concat(parts))
  }

  *[Symbol.iterator](): Generator<RecordHeader> {
    const bytes = new RecordBytes(this.bytes)
    for (let read = 0; read < this.count; read++) {
      const from = bytes.at
      const name = bytes.headerName()
      const value = bytes.nullableBytes()
      yield { name, value, from, to: bytes.at }
    }
  }

  /** `removed`: headers that an iteration over these has yielded. */
  without(removed: readonly RecordHeader[]): RecordHeaders {
    const parts: Buffer[] = []
    let end = 0
    for (const { from, to } of removed.toSorted((a, b) => a.from - b.from)) {
      parts.push(this.bytes.subarray(end, from))
      end = to
    }
    parts.push(this.bytes.subarray(end))
    return new RecordHeaders(this.count - removed.length, Buffer.concat(parts))
  }

  followedBy(others: RecordHeaders): RecordHeaders {
    return new RecordHeaders(this.count + others.count, Buffer.concat([this.bytes, others.bytes]))
  }
}

export const noHeaders = RecordHeaders.of([])

function encodeHeader(name: string | Buffer, value: string | Buffer | null): Buffer {
  const nameBytes = Buffer.from(name)
  const valueBytes = value === null ? undefined : Buffer.from(value)
  const valueLength = varintOf(valueBytes?.length ?? -1)
  return Buffer.concat([varintOf(nameBytes.length), nameBytes, valueLength, valueBytes ?? Buffer.alloc(0)])
}
