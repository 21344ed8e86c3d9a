import { zstdCompressSync } from 'node:zlib'
import { crc32c } from '@node-rs/crc32'
import fc from 'fast-check'
import {
  decodePartition,
  type FetchedRecord,
  gapRecord,
  isPlaceholder,
  withoutAborted,
  withSkipped,
} from '../../../../src/core/kafka/recordBatches.ts'
import { noHeaders, RecordHeaders } from '../../../../src/core/kafka/recordHeaders.ts'

type Batch = { first: number; values: readonly string[] } & Encoding
/** `count`: how many records the batch says that it has. */
type Encoding = { lastOffset?: number; codec?: number; magic?: number; count?: number }

const varint = (value: number): number[] => {
  let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n))
  const bytes: number[] = []
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return [...bytes, Number(rest)]
}

/** A record without a key, and what follows its value. */
function encodeRecord(delta: number, value: string, rest: Buffer): Buffer {
  const start = [0, 0, ...varint(delta), ...varint(-1), ...varint(Buffer.byteLength(value)), ...Buffer.from(value)]
  return Buffer.concat([Buffer.from(varint(start.length + rest.length)), Buffer.from(start), rest])
}
const encodeBatch = ({ first, values, ...encoding }: Batch): Buffer =>
  encodeRecords(
    first,
    values.map((value, delta) => encodeRecord(delta, value, Buffer.from([0]))),
    encoding,
  )

/** A batch as https://kafka.apache.org/documentation/#recordbatch describes it. */
function encodeRecords(first: number, records: readonly Buffer[], encoding: Encoding = {}): Buffer {
  const { lastOffset, codec = 0, magic = 2, count = records.length } = encoding
  const body = codec === 4 ? zstdCompressSync(Buffer.concat(records)) : Buffer.concat(records)
  const batch = Buffer.alloc(61 + body.length)
  body.copy(batch, 61)
  batch.writeBigInt64BE(BigInt(first), 0)
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt8(magic, 16)
  batch.writeInt16BE(codec, 21)
  batch.writeInt32BE((lastOffset ?? first + records.length - 1) - first, 23)
  batch.writeInt32BE(count, 57)
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}

/** As the records of one partition stand in a fetch answer. */
const answer = (...parts: Buffer[]): Buffer => Buffer.concat(parts)
const told = (records: readonly FetchedRecord[]) =>
  records.map((record) => {
    const read = `${record.offset} ${record.isGap ? 'gap' : record.isControlRecord ? 'control' : record.value}`
    return record.undecodable?.message ?? read
  })

const [a, b] = [encodeBatch({ first: 5, values: ['a0', 'a1'] }), encodeBatch({ first: 7, values: ['b0'], codec: 4 })]

test('batches of every codec are read in order, and an incomplete one is left for the next fetch', async () => {
  expect(told(await decodePartition(answer(a, b), 5n))).toEqual(['5 a0', '6 a1', '7 b0'])
  for (let cut = 1; cut < b.length; cut++)
    expect(told(await decodePartition(answer(a, b.subarray(0, b.length - cut)), 5n))).toEqual(['5 a0', '6 a1'])
})

test('a placeholder stands for offsets that compaction has removed before, within or after a batch, or for all of it', async () => {
  const emptied = encodeBatch({ first: 8, values: [], lastOffset: 11, codec: 4 })
  const shortened = encodeBatch({ first: 12, values: ['c0'], lastOffset: 14 })
  const holed = encodeRecords(15, [encodeRecord(1, 'd1', Buffer.from([0])), encodeRecord(3, 'd3', Buffer.from([0]))], {
    lastOffset: 18,
  })
  const later = encodeBatch({ first: 21, values: ['e0'] })
  const all = answer(emptied, shortened, holed, later)
  const found = ['11 gap', '12 c0', '14 gap', '15 gap', '16 d1', '17 gap', '18 d3', '20 gap', '21 e0']
  expect(told(await decodePartition(all, 8n))).toEqual(found)
  expect(told(await decodePartition(all, 16n))).toEqual(['16 d1', '17 gap', '18 d3', '20 gap', '21 e0'])
})

test('a transaction marker is no gap, nor is an aborted record', async () => {
  const marker = Buffer.concat([Buffer.from(encodeBatch({ first: 7, values: ['x'] }))])
  marker.writeInt16BE(0x20, 21)
  marker.writeUInt32BE(crc32c(marker.subarray(21)), 17)
  const read = told(await decodePartition(answer(a, marker, encodeBatch({ first: 8, values: ['c0'] })), 5n))
  expect(read).toEqual(['5 a0', '6 a1', '7 control', '8 c0'])
})

test('any flipped byte after the length is detected, and no later batch is read', async () => {
  const flipped = fc.asyncProperty(
    fc.integer({ min: 16, max: a.length - 1 }),
    fc.integer({ min: 1, max: 255 }),
    async (at, bits) => {
      const damaged = Buffer.from(a)
      damaged.writeUInt8(damaged.readUInt8(at) ^ bits, at)
      const [marker, ...rest] = await decodePartition(answer(damaged, b))
      expect(rest).toEqual([])
      expect(marker?.undecodable?.message).toMatch(/^the record batch at offset.* cannot be decoded: /)
    },
  )
  await fc.assert(flipped, { numRuns: 300 })
})

test('an undecodable batch is reported with its offsets, and the batch before it is read', async () => {
  const unknown = encodeBatch({ first: 7, values: ['x', 'y'], codec: 6 })
  const future = encodeBatch({ first: 9, values: ['x'], magic: 3 })
  expect(told(await decodePartition(answer(a, unknown, b), 5n))).toEqual([
    '5 a0',
    '6 a1',
    'the record batch at offsets 7 to 8 cannot be decoded: compression codec 6 is unknown',
  ])
  const why = 'the record batch at offset 9 cannot be decoded: its format, version 3, is unknown'
  expect(told(await decodePartition(answer(future)))).toEqual([why])
})

test('a fetch without a complete batch reports a wrong length', async () => {
  const long = Buffer.from(a)
  long.writeInt32BE(a.length + 100, 8)
  const short = Buffer.from(a)
  short.writeInt32BE(3, 8)
  for (const damaged of [long, short, a.subarray(0, 10), a.subarray(0, 40)]) {
    const [marker, ...rest] = await decodePartition(answer(damaged))
    expect(rest).toEqual([])
    const why = /^the record batch .* cannot be decoded: it(s checksum| is cut off)/
    expect(marker?.undecodable?.message).toMatch(why)
  }
})

test('a batch of very many records is read in parts, each record once', async () => {
  const values = Array.from({ length: 120_000 }, () => '')
  const batch = encodeBatch({ first: 0, values, codec: 4 })
  const [offsets, parts]: [number[], number[]] = [[], []]
  while (offsets.length < values.length) {
    const part = await decodePartition(batch, BigInt(offsets.length))
    parts.push(part.length)
    for (const { offset } of part) offsets.push(Number(offset))
  }
  expect(parts).toEqual([50_000, 50_000, 20_000])
  expect(offsets).toEqual([...values.keys()])
})

test('records have the timestamp of their producer, or of the broker with LogAppendTime', async () => {
  const firstMs = 1_700_000_000_000n
  const withTimes = (attributes: number, delta: readonly number[]): Buffer => {
    const record = Buffer.from([0, ...delta, 0, 1, 2, 0x78, 0])
    const timed = encodeRecords(0, [Buffer.concat([Buffer.from(varint(record.length)), record])])
    timed.writeInt16BE(attributes, 21)
    timed.writeBigInt64BE(firstMs, 27)
    timed.writeBigInt64BE(42n, 35)
    timed.writeUInt32BE(crc32c(timed.subarray(21)), 17)
    return timed
  }
  const timestamp = async (...of: Parameters<typeof withTimes>) =>
    (await decodePartition(withTimes(...of)))[0]?.timestamp
  expect(await timestamp(0, varint(3))).toBe('1700000000003')
  expect(await timestamp(0, varint(-1_000))).toBe('1699999999000')
  // The greatest and the least of 64 bits.
  expect(await timestamp(0, [0xfe, ...Array.from({ length: 8 }, () => 0xff), 1])).toBe(String(firstMs + 2n ** 63n - 1n))
  expect(await timestamp(0, [0xff, ...Array.from({ length: 8 }, () => 0xff), 1])).toBe(String(firstMs - 2n ** 63n))
  expect(await timestamp(0x08, varint(3))).toBe('42')
})

describe('Headers', () => {
  const any = (headers: RecordHeaders): Buffer => Buffer.concat([Buffer.from(varint(headers.count)), headers.bytes])
  const decoded = async (headers: RecordHeaders, codec = 0): Promise<RecordHeaders | undefined> =>
    (await decodePartition(encodeRecords(0, [encodeRecord(0, 'x', any(headers))], { codec })))[0]?.headers
  const bytes = fc.uint8Array({ maxLength: 200 }).map((each) => Buffer.from(each))

  test('any names and values come back in their order, empty, null and repeated ones included', async () => {
    const name = fc.oneof(
      bytes,
      fc.constantFrom(...['__proto__', 'toString', '1', 'a'].map((each) => Buffer.from(each))),
    )
    const kept = fc.asyncProperty(fc.array(fc.tuple(name, fc.option(bytes)), { maxLength: 20 }), async (pairs) => {
      const found = await decoded(RecordHeaders.of(pairs))
      expect([...(found ?? [])].map((header) => [header.name, header.value])).toEqual(pairs)
    })
    await fc.assert(kept, { numRuns: 200 })
  })

  test('a million in one record, and names of a mebibyte, are read in many turns of the event loop', async () => {
    const one = RecordHeaders.of([['', null]])
    const million = new RecordHeaders(1_000_000, Buffer.concat(Array.from({ length: 1_000_000 }, () => one.bytes)))
    const long = RecordHeaders.of(Array.from({ length: 50 }, (_, at) => [`${at}`.repeat(500_000), 'x'] as const))
    // A decoder that is quadratic, as that of KafkaJS, takes hours.
    for (const [headers, turns] of [[million, 19] as const, [long, 0] as const]) {
      const batch = encodeRecords(0, [encodeRecord(0, 'x', any(headers))], { codec: 4 })
      let [isDecoding, others] = [true, 0]
      const countTurns = (): void => {
        others++
        if (isDecoding) setImmediate(countTurns)
      }
      setImmediate(countTurns)
      const [found] = await decodePartition(batch)
      isDecoding = false
      expect(others).toBeGreaterThanOrEqual(turns)
      expect(found?.headers.count).toBe(headers.count)
      expect(found?.headers.bytes.equals(headers.bytes)).toBe(true)
    }
  })

  test.each([
    ['a record cannot have -1 headers', [...varint(-1)]],
    ['a record cannot have 3 headers', [...varint(3), ...varint(0), ...varint(0), ...varint(0)]],
    ['a record is cut off', [...varint(1), ...varint(5), 0x61]],
    ['a record is cut off', [...varint(1), ...varint(1), 0x61, ...varint(2), 0x62]],
    ['a record is cut off', [...varint(1), ...varint(0), 0x80]],
    ['a header has no name', [...varint(1), ...varint(-1), ...varint(0)]],
    ['a record is longer than its 1 headers', [...varint(1), ...varint(0), ...varint(0), 0]],
    ['a number has more than five bytes', [...varint(1), 0x80, 0x80, 0x80, 0x80, 0x80, 0]],
  ])('with an impossible length or count make the batch undecodable: %s', async (why, rest) => {
    const batch = encodeRecords(3, [encodeRecord(0, 'x', Buffer.from(rest))])
    const message = `the record batch at offsets 3 to 3 cannot be decoded: ${why}`
    expect(told(await decodePartition(batch))).toEqual([message])
  })

  test('with a length below -1 have a null value, as in the Java client', async () => {
    const found = await decoded(new RecordHeaders(1, Buffer.from([...varint(1), 0x61, ...varint(-7)])))
    expect([...(found ?? [])]).toMatchObject([{ name: Buffer.from('a'), value: null }])
  })
})

test.each([
  ['it is longer than its 1 records', { count: 1 }],
  ['a record is cut off', { count: 3 }],
  ['its number of records is -1', { count: -1 }],
])('a batch with a wrong record count is reported, and none of its records is read: %s', async (why, wrong) => {
  const records = [0, 1].map((delta) => encodeRecord(delta, 'x', Buffer.from([0])))
  for (const codec of [0, 4])
    expect(told(await decodePartition(answer(a, encodeRecords(7, records, { ...wrong, codec })), 5n))).toEqual([
      '5 a0',
      '6 a1',
      `the record batch at offsets 7 to 8 cannot be decoded: ${why}`,
    ])
})

test('a record whose length is negative or exceeds its batch makes the batch undecodable', async () => {
  for (const length of [50, -2]) {
    const batch = encodeRecords(7, [Buffer.from([...varint(length), 0, 0, 0, 1, 1, 0])])
    expect(told(await decodePartition(batch))).toEqual([
      'the record batch at offsets 7 to 7 cannot be decoded: a record is cut off',
    ])
  }
})

test('after four mebibytes of one partition the rest is left for the next fetch', async () => {
  const batches = [0, 1, 2, 3].map((first) => encodeBatch({ first, values: ['x'.repeat(3_000_000)], codec: 4 }))
  expect(await decodePartition(answer(...batches))).toHaveLength(2)
})

test('a placeholder has the append time of a control or aborted record, and is not taken for a record of a producer', () => {
  const [value, timestamp] = [Buffer.from('v'), '1700000000000']
  const record = { offset: '7', timestamp, key: null, value, headers: noHeaders, isControlRecord: false }
  const marker = { ...record, offset: '8', isControlRecord: true }
  const [first, second] = withSkipped([record, marker])
  expect(first).toBe(record)
  expect(second).toMatchObject({ offset: '8', timestamp, value: null, isControlRecord: false, isSkipped: true })
  expect([record, marker, second ?? marker, gapRecord(9n)].map(isPlaceholder)).toEqual([false, true, true, true])
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

  test('are not read by a fetch that begins inside several of them', () => {
    const ends = [end(102, 'second', 'abort'), end(103, 'first', 'abort')]
    const records = [record(100, 'second'), record(101, 'first'), ...ends]
    const aborted = [
      { producerId: 'first', firstOffset: '50' },
      { producerId: 'second', firstOffset: '60' },
    ]
    expect(handedOut(withoutAborted(records, aborted))).toEqual([])
  })

  test('may be listed by the broker in any order', () => {
    const records = [record(100, 'early'), end(101, 'early', 'abort'), record(200, 'late'), end(201, 'late', 'abort')]
    const aborted = [
      { producerId: 'late', firstOffset: '200' },
      { producerId: 'early', firstOffset: '50' },
    ]
    expect(handedOut(withoutAborted(records, aborted))).toEqual([])
  })

  test('do not hide the next transaction of the same producer, and do not end at a record whose key looks like a marker', () => {
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
