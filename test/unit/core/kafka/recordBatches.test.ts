import { createRequire } from 'node:module'
import { zstdCompressSync } from 'node:zlib'
import { crc32c } from '@node-rs/crc32'
import fc from 'fast-check'
import {
  decodePartition,
  type FetchedRecord,
  undecodableOf,
  withoutAborted,
} from '../../../../src/core/kafka/recordBatches.ts'

type KafkaJsDecoder = Parameters<typeof decodePartition>[0]
const load = createRequire(import.meta.url)
const Decoder = load('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => KafkaJsDecoder

type Batch = { first: number; values: readonly string[]; lastOffset?: number; codec?: number; magic?: number }

const varint = (value: number): number[] => {
  let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n))
  const bytes: number[] = []
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return [...bytes, Number(rest)]
}

/** A batch as https://kafka.apache.org/documentation/#recordbatch describes it. */
function encodeBatch({ first, values, lastOffset, codec = 0, magic = 2 }: Batch): Buffer {
  const records = values.map((value, delta) => {
    const body = [0, 0, ...varint(delta), ...varint(-1), ...varint(Buffer.byteLength(value)), ...Buffer.from(value), 0]
    return Buffer.from([...varint(body.length), ...body])
  })
  const body = codec === 4 ? zstdCompressSync(Buffer.concat(records)) : Buffer.concat(records)
  const batch = Buffer.alloc(61 + body.length)
  body.copy(batch, 61)
  batch.writeBigInt64BE(BigInt(first), 0)
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt8(magic, 16)
  batch.writeInt16BE(codec, 21)
  batch.writeInt32BE((lastOffset ?? first + values.length - 1) - first, 23)
  batch.writeInt32BE(values.length, 57)
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}

/** As the records of one partition stand in a fetch answer. */
const answer = (...parts: Buffer[]): KafkaJsDecoder => {
  const bytes = Buffer.concat(parts)
  const size = Buffer.alloc(4)
  size.writeInt32BE(bytes.length)
  return new Decoder(Buffer.concat([size, bytes]))
}
const told = (records: readonly FetchedRecord[]) =>
  records.map((record) => {
    const read = `${record.offset} ${record.isControlRecord ? 'control' : record.value}`
    return undecodableOf(record)?.message ?? read
  })

const [a, b] = [encodeBatch({ first: 5, values: ['a0', 'a1'] }), encodeBatch({ first: 7, values: ['b0'], codec: 4 })]

test('batches are read one after the other, whatever their codec; what is cut off is left for the next fetch', async () => {
  expect(told(await decodePartition(answer(a, b)))).toEqual(['5 a0', '6 a1', '7 b0'])
  for (let cut = 1; cut < b.length; cut++)
    expect(told(await decodePartition(answer(a, b.subarray(0, b.length - cut))))).toEqual(['5 a0', '6 a1'])
})

test('a batch that compaction has emptied, or shortened, ends in a control record', async () => {
  const emptied = encodeBatch({ first: 8, values: [], lastOffset: 11, codec: 4 })
  const shortened = encodeBatch({ first: 12, values: ['c0'], lastOffset: 14 })
  expect(told(await decodePartition(answer(emptied, shortened)))).toEqual(['11 control', '12 c0', '14 control'])
})

test('any flipped byte behind the length is found, and nothing behind it is read', async () => {
  const flipped = fc.asyncProperty(
    fc.integer({ min: 16, max: a.length - 1 }),
    fc.integer({ min: 1, max: 255 }),
    async (at, bits) => {
      const damaged = Buffer.from(a)
      damaged.writeUInt8(damaged.readUInt8(at) ^ bits, at)
      const [marker, ...rest] = await decodePartition(answer(damaged, b))
      expect(rest).toEqual([])
      expect(marker && undecodableOf(marker)?.message).toMatch(/^the record batch at offset.* cannot be decoded: /)
    },
  )
  await fc.assert(flipped, { numRuns: 300 })
})

test('what cannot be decoded is named with its offsets, and its neighbour before it is read', async () => {
  const unknown = encodeBatch({ first: 7, values: ['x', 'y'], codec: 6 })
  const future = encodeBatch({ first: 9, values: ['x'], magic: 3 })
  expect(told(await decodePartition(answer(a, unknown, b)))).toEqual([
    '5 a0',
    '6 a1',
    'the record batch at offsets 7 to 8 cannot be decoded: compression codec 6 is unknown',
  ])
  const why = 'the record batch at offset 9 cannot be decoded: its format, version 3, is unknown'
  expect(told(await decodePartition(answer(future)))).toEqual([why])
})

test('a fetch that holds no whole batch names a length that is wrong', async () => {
  const long = Buffer.from(a)
  long.writeInt32BE(a.length + 100, 8)
  const short = Buffer.from(a)
  short.writeInt32BE(3, 8)
  for (const damaged of [long, short, a.subarray(0, 10), a.subarray(0, 40)]) {
    const [marker, ...rest] = await decodePartition(answer(damaged))
    expect(rest).toEqual([])
    const why = /^the record batch .* cannot be decoded: it(s checksum| is cut off)/
    expect(marker && undecodableOf(marker)?.message).toMatch(why)
  }
})

test('a batch of very many records is read', async () => {
  const values = Array.from({ length: 300_000 }, () => '')
  expect(await decodePartition(answer(encodeBatch({ first: 0, values, codec: 4 })))).toHaveLength(values.length)
})

test('after four mebibytes of one partition the rest is left for the next fetch', async () => {
  const batches = [0, 1, 2, 3].map((first) => encodeBatch({ first, values: ['x'.repeat(3_000_000)], codec: 4 }))
  expect(await decodePartition(answer(...batches))).toHaveLength(2)
})

describe('Aborted transactions', () => {
  const record = (offset: number, producerId: string, more: Partial<FetchedRecord> = {}): FetchedRecord => {
    const batchContext = { producerId, inTransaction: true }
    return { offset: String(offset), isControlRecord: false, batchContext, ...more } as FetchedRecord
  }
  const end = (offset: number, producerId: string, type: 'abort' | 'commit'): FetchedRecord =>
    record(offset, producerId, { isControlRecord: true, key: Buffer.from([0, 0, 0, type === 'abort' ? 0 : 1]) })
  const handedOut = (records: readonly FetchedRecord[]): string[] =>
    records.filter(({ isControlRecord }) => !isControlRecord).map(({ offset }) => offset)

  test('a fetch that begins inside several of them hands out none of their records', () => {
    const ends = [end(102, 'second', 'abort'), end(103, 'first', 'abort')]
    const records = [record(100, 'second'), record(101, 'first'), ...ends]
    const aborted = [
      { producerId: 'first', firstOffset: '50' },
      { producerId: 'second', firstOffset: '60' },
    ]
    expect(handedOut(withoutAborted(records, aborted))).toEqual([])
  })

  test('they count in whatever order the broker lists them', () => {
    const records = [record(100, 'early'), end(101, 'early', 'abort'), record(200, 'late'), end(201, 'late', 'abort')]
    const aborted = [
      { producerId: 'late', firstOffset: '200' },
      { producerId: 'early', firstOffset: '50' },
    ]
    expect(handedOut(withoutAborted(records, aborted))).toEqual([])
  })

  test('the next transaction of the same producer counts, and a record whose key looks like a marker ends nothing', () => {
    const marked = record(2, 'p', { key: Buffer.from([0, 0, 0, 0]) })
    const records = [
      record(1, 'p'),
      marked,
      record(3, 'p'),
      end(4, 'p', 'abort'),
      record(5, 'p'),
      end(6, 'p', 'commit'),
    ]
    expect(handedOut(withoutAborted(records, [{ producerId: 'p', firstOffset: '1' }]))).toEqual(['5'])
  })
})
