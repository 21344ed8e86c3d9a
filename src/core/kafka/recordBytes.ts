/** Throws if a field ends beyond `end`. */
export class RecordBytes {
  readonly #bytes: Buffer
  at = 0
  /** Decoders lower it to the end of a record. */
  end: number

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.end = bytes.length
  }

  byte(): number {
    if (this.at >= this.end) throw new Error('a record is cut off')
    return this.#bytes[this.at++] as number
  }

  /** Zigzag, 32 bits. */
  varint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte()
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1)
    }
    throw new Error('a number has more than five bytes')
  }

  /** Zigzag, 64 bits. */
  varlong(): bigint {
    const first = this.byte()
    if (first < 0x80) return BigInt((first >>> 1) ^ -(first & 1))
    let value = BigInt(first & 0x7f)
    for (let shift = 7n; shift < 70n; shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, (BigInt.asUintN(64, value) >> 1n) ^ -(value & 1n))
    }
    throw new Error('a number has more than ten bytes')
  }

  skip(length: number): void {
    if (length > this.end - this.at) throw new Error('a record is cut off')
    this.at += length
  }

  /** Null if the length is negative. */
  nullableBytes(): Buffer | null {
    const length = this.varint()
    if (length < 0) return null
    const from = this.at
    this.skip(length)
    return this.#bytes.subarray(from, this.at)
  }

  headerName(): Buffer {
    const bytes = this.nullableBytes()
    if (bytes === null) throw new Error('a header has no name')
    return bytes
  }

  /** Makes no objects: a record may have a million headers. */
  skipHeaders(count: number): void {
    for (let skipped = 0; skipped < count; skipped++) {
      const nameLength = this.varint()
      if (nameLength < 0) throw new Error('a header has no name')
      this.skip(nameLength)
      this.skip(Math.max(0, this.varint()))
    }
  }

  slice(from: number): Buffer {
    return this.#bytes.subarray(from, this.at)
  }
}

/** A zigzag varint. */
export function varintOf(value: number): Buffer {
  const bytes: number[] = []
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  return Buffer.from([...bytes, rest])
}
