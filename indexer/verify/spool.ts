import { hash } from 'node:crypto'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const bucketCount = 256
const blockBytes = 32 * 1024
const lengthBytes = 2

type Block = { readonly at: number; readonly bytes: number }
type Bucket = { readonly unwritten: Buffer; used: number; readonly blocks: Block[] }

/**
 * Entries on disk, in 256 buckets, so that what belongs together can be compared bucket by bucket in flat memory. The file has no name:
 * the operating system removes it with the process, however that ends.
 */
export class Spool {
  readonly #file: FileHandle
  readonly #buckets: readonly Bucket[]
  #bytes = 0

  private constructor(file: FileHandle) {
    this.#file = file
    this.#buckets = Array.from({ length: bucketCount }, () => ({
      unwritten: Buffer.allocUnsafe(blockBytes),
      used: 0,
      blocks: [],
    }))
  }

  static async open(): Promise<Spool> {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-verify-'))
    try {
      return new Spool(await open(join(folder, 'spool'), 'wx+', 0o600))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** How many buckets there are. */
  readonly buckets = bucketCount

  /** The size of the file. */
  get bytes(): number {
    return this.#bytes
  }

  /** Appends an entry of at most 32,000 bytes to the bucket of a name. */
  async append(name: string, entry: Buffer): Promise<void> {
    const bucket = this.#buckets[hash('md5', name, 'buffer').readUInt8(0)]
    if (bucket === undefined) throw new RangeError('a byte has 256 values')
    if (bucket.used + lengthBytes + entry.length > blockBytes) await this.#write(bucket)
    bucket.unwritten.writeUInt16LE(entry.length, bucket.used)
    entry.copy(bucket.unwritten, bucket.used + lengthBytes)
    bucket.used += lengthBytes + entry.length
  }

  async #write(bucket: Bucket): Promise<void> {
    const block = { at: this.#bytes, bytes: bucket.used }
    this.#bytes += block.bytes
    bucket.blocks.push(block)
    bucket.used = 0
    await this.#file.write(bucket.unwritten, 0, block.bytes, block.at)
  }

  /** The entries of one bucket (from 0 on), in the order in which they were appended. */
  async *entries(number: number): AsyncGenerator<Buffer> {
    const bucket = this.#buckets[number]
    if (bucket === undefined) return
    if (bucket.used > 0) await this.#write(bucket)
    for (const { at, bytes } of bucket.blocks) {
      const block = Buffer.allocUnsafe(bytes)
      await this.#file.read(block, 0, bytes, at)
      for (let start = 0; start < bytes; ) {
        const end = start + lengthBytes + block.readUInt16LE(start)
        yield block.subarray(start + lengthBytes, end)
        start = end
      }
    }
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}
