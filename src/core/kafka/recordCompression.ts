import { promisify } from 'node:util'
import { gunzip, zstdDecompress } from 'node:zlib'
import { decompressFrame } from 'lz4-napi'
import { uncompress } from 'snappy'

type Decompress = (compressed: Buffer, maxBytes: number) => Promise<Buffer>

const gunzipAsync = promisify(gunzip)
const zstdDecompressAsync = promisify(zstdDecompress)

/** `codec`: of the batch's attributes. Rejects for unknown codecs, damaged bytes, and results above `maxBytes`. */
export async function decompressRecords(codec: number, compressed: Buffer, maxBytes: number): Promise<Buffer> {
  const format = codecs[codec]
  if (format === undefined) throw new Error(`compression codec ${codec} is unknown`)
  try {
    return await format.decompress(compressed, maxBytes)
  } catch (error) {
    throw new Error(`${format.name} compression: ${(error as Error).message}`, { cause: error })
  }
}

const tooLarge = (maxBytes: number): Error => new Error(`decompresses to more than ${maxBytes} bytes`)

/** Framed snappy, of the Java client: a header with this magic, then blocks of raw snappy, each after its length (4 bytes). */
const framedSnappyMagic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
const framedSnappyHeaderBytes = 16

async function decompressSnappy(compressed: Buffer, maxBytes: number): Promise<Buffer> {
  const isFramed = compressed.subarray(0, framedSnappyMagic.length).equals(framedSnappyMagic)
  const blocks = isFramed ? framedSnappyBlocks(compressed) : [compressed]
  if (blocks.reduce((sum, block) => sum + snappyLength(block), 0) > maxBytes) throw tooLarge(maxBytes)
  const parts = await Promise.all(blocks.map((block) => uncompress(block)))
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts as Buffer[])
}

function framedSnappyBlocks(compressed: Buffer): Buffer[] {
  const blocks: Buffer[] = []
  for (let at = framedSnappyHeaderBytes; at < compressed.length; ) {
    const end = at + 4 + compressed.readUInt32BE(at)
    if (end > compressed.length) throw new Error('a block is cut off')
    blocks.push(compressed.subarray(at + 4, end))
    at = end
  }
  return blocks
}

/** Raw snappy begins with its uncompressed length, a varint. */
function snappyLength(block: Buffer): number {
  for (let at = 0, length = 0; at < 5; at++) {
    const byte = block.readUInt8(at)
    length += (byte & 0x7f) * 2 ** (7 * at)
    if (byte < 0x80) return length
  }
  throw new Error('a block does not begin with its length')
}

/** Number in the header of a frame → the largest block. */
const lz4BlockMaxBytes: Readonly<Record<number, number>> = { 4: 65_536, 5: 262_144, 6: 1_048_576, 7: 4_194_304 }

/** lz4-napi has no limit. */
async function decompressLz4(compressed: Buffer, maxBytes: number): Promise<Buffer> {
  if (lz4MaxBytes(compressed) > maxBytes) throw tooLarge(maxBytes)
  return await decompressFrame(compressed)
}

/**
 * An upper bound: a byte of a compressed block becomes 255 at most.
 * The frame: magic (4 bytes), flags, block size, perhaps content size (8) and dictionary id (4), checksum of the header (1). Then blocks: a word (4: the
 * length; the highest bit marks an uncompressed block), the block, perhaps a checksum (4). Then a word of zero.
 */
function lz4MaxBytes(frame: Buffer): number {
  const flags = frame.readUInt8(4)
  const hasBlockChecksums = (flags & 0x10) !== 0
  const hasContentSize = (flags & 0x08) !== 0
  const hasDictionary = (flags & 0x01) !== 0
  const blockMaxBytes = lz4BlockMaxBytes[(frame.readUInt8(5) >> 4) & 0x07]
  if (blockMaxBytes === undefined) throw new Error('the frame has no valid block size')
  let maxBytes = 0
  const blocksFrom = 7 + (hasContentSize ? 8 : 0) + (hasDictionary ? 4 : 0)
  for (let at = blocksFrom; at + 4 <= frame.length; ) {
    const word = frame.readUInt32LE(at)
    if (word === 0) break
    const isStored = word >= 0x8000_0000
    const length = word & 0x7fff_ffff
    maxBytes += isStored ? length : Math.min(blockMaxBytes, 255 * length)
    at += 4 + length + (hasBlockChecksums ? 4 : 0)
  }
  return maxBytes
}

const codecs: Readonly<Record<number, { readonly name: string; readonly decompress: Decompress }>> = {
  0: { name: 'no', decompress: async (records) => records },
  1: { name: 'gzip', decompress: (compressed, maxBytes) => gunzipAsync(compressed, { maxOutputLength: maxBytes }) },
  2: { name: 'snappy', decompress: decompressSnappy },
  3: { name: 'lz4', decompress: decompressLz4 },
  4: {
    name: 'zstd',
    decompress: (compressed, maxBytes) => zstdDecompressAsync(compressed, { maxOutputLength: maxBytes }),
  },
}
