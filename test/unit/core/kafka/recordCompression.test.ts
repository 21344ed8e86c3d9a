import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { compressFrameSync } from 'lz4-napi'
import { compressSync } from 'snappy'
import { decompressRecords } from '../../../../src/core/kafka/recordCompression.ts'

const maxBytes = 1_000_000
const [gzip, snappy, lz4, zstd] = [1, 2, 3, 4] as const

/** As the Java client writes snappy: a header, then blocks behind their lengths. */
function framedSnappy(bytes: Buffer, blockBytes = 32_768): Buffer {
  const parts: Buffer[] = [Buffer.from('82534e41505059000000000100000001', 'hex')]
  for (let at = 0; at < bytes.length; at += blockBytes) {
    const block = compressSync(bytes.subarray(at, at + blockBytes))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(block.length)
    parts.push(length, block)
  }
  return Buffer.concat(parts)
}

const formats: readonly [name: string, codec: number, compress: (bytes: Buffer) => Buffer][] = [
  ['gzip', gzip, (bytes) => gzipSync(bytes)],
  ['raw snappy', snappy, (bytes) => compressSync(bytes)],
  ['framed snappy', snappy, framedSnappy],
  ['lz4', lz4, (bytes) => compressFrameSync(bytes)],
  ['lz4 with checksums', lz4, (bytes) => compressFrameSync(bytes, { blockChecksums: true, contentChecksum: true })],
  ['zstd', zstd, (bytes) => zstdCompressSync(bytes)],
]

/** Text that repeats, and bytes that do not. */
const contents = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 200_000 }).map((bytes) => Buffer.from(bytes)),
  fc
    .tuple(fc.string({ minLength: 1, maxLength: 200 }), fc.nat({ max: 2_000 }))
    .map(([text, times]) => Buffer.from(text.repeat(times + 1))),
)

describe.each(formats)('%s', (_, codec, compress) => {
  test('compressed bytes come back', async () => {
    const comesBack = fc.asyncProperty(contents, async (bytes) => {
      expect(await decompressRecords(codec, compress(bytes), bytes.length + 70_000)).toEqual(bytes)
    })
    await fc.assert(comesBack, { numRuns: 50 })
  })

  test('a result above the bound is refused before it is decompressed', async () => {
    const bomb = compress(Buffer.alloc(20 * maxBytes))
    await expect(decompressRecords(codec, bomb, maxBytes)).rejects.toThrow(/compression: /)
  })

  test('damaged bytes are refused with the name of the codec', async () => {
    const whole = compress(Buffer.from('a form, a submission, an account key; '.repeat(1_000)))
    const half = decompressRecords(codec, whole.subarray(0, whole.length >> 1), maxBytes)
    await expect(half).rejects.toThrow(/^(gzip|snappy|lz4|zstd) compression: /)
    await expect(decompressRecords(codec, Buffer.from('no such format'), maxBytes)).rejects.toThrow(/compression: /)
  })
})
