import { setTimeout as sleep } from 'node:timers/promises'
import type { FetchedBatch } from '../../src/core/kafka/consumerGroup.ts'
import { noHeaders, RecordHeaders } from '../../src/core/kafka/recordHeaders.ts'
import type { NewRecord } from '../../src/core/kafka/sink.ts'
import { partitionName, type SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { toOffset } from '../../src/core/model/ids.ts'
import { closing } from '../support/closing.ts'
import { eventually, succeeds } from '../support/eventually.ts'
import type { GroupReader } from '../support/groupReader.ts'
import { type KafkaUnderTest, realKafka, simulatedKafka } from '../support/kafkaUnderTest.ts'
import { TopicUnderTest } from '../support/topicUnderTest.ts'

const texts = (records: readonly SourceRecord[]): string[] => records.map(({ value }) => String(value))
const numbered = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at}`)
const closed = closing()
/** Longer than several fetches wait. */
const longQuietMs = 4_000

describe.each([
  ['the real Kafka', realKafka],
  ['the simulated Kafka', simulatedKafka],
])('%s', (_name, start) => {
  let kafka: KafkaUnderTest
  let on: TopicUnderTest

  beforeAll(() => {
    kafka = start()
  })
  beforeEach(() => {
    on = closed(new TopicUnderTest(kafka.client()))
  })

  test('a broker answers', async () => {
    await expect(on.source.ping()).resolves.toBeUndefined()
    // A new Kafka first makes its topic of groups.
    await eventually(() => succeeds(on.source.groupMembers(on.groupId)))
  })

  test('a record gets the next offset of its partition, and the broker’s time', async () => {
    await on.create(1)
    expect(await on.ranges()).toEqual([{ low: 0n, high: 0n }])
    const before = Date.now()
    await on.append(['a', 'b', 'c'])
    const after = Date.now()
    expect(await on.ranges()).toEqual([{ low: 0n, high: 3n }])
    const records = await on.read()
    expect(records.map(({ offset }) => offset)).toEqual([0n, 1n, 2n])
    const times = records.map(({ appendedAtMs }) => appendedAtMs)
    expect(times).toEqual(times.toSorted())
    expect(times.every((each) => each >= before && each <= after)).toBe(true)
  })

  test('the first record after a time can be found', async () => {
    await on.create(1)
    await on.append(['a', 'b'])
    const before = Date.now()
    await eventually(() => Date.now() > before)
    await on.append(['c'])
    const times = (await on.read()).map(({ appendedAtMs }) => appendedAtMs)
    const [second = 0, third = 0] = times.slice(1)
    const firstAfter = async (afterMs: number) => [
      ...(await on.source.offsetsAfter([{ topic: on.topic, partition: 0, afterMs }])).values(),
    ]
    expect([await firstAfter(0), await firstAfter(second), await firstAfter(third)]).toEqual([[0n], [2n], []])
    expect(await on.source.offsetsAfter([])).toEqual(new Map())
  })

  test('a record is read with the bytes that were appended', async () => {
    await on.create(1)
    const anyBytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
    const headers = RecordHeaders.of([
      ...([
        ['several', 'x'],
        ['__proto__', 'a'],
        ['bytes', anyBytes],
        ['several', ''],
        ['empty', null],
      ] as const),
      ...([
        ['toString', 'b'],
        ['2', 'two'],
        ['1', 'one'],
        ['several', null],
        ['', ''],
        [anyBytes, 'any'],
      ] as const),
    ])
    const sent: Omit<NewRecord, 'topic'>[] = [
      { key: 'key', value: null },
      { key: null, value: '' },
      { key: '', value: anyBytes, headers },
      { key: anyBytes, value: '{"ä": "\u{1f600}"}', headers: noHeaders },
    ]
    await on.appendRecords(sent)
    const empty = Buffer.alloc(0)
    expect((await on.read()).map(({ key, value, headers }) => ({ key, value, headers }))).toEqual([
      { key: Buffer.from('key'), value: null, headers: noHeaders },
      { key: null, value: Buffer.alloc(0), headers: noHeaders },
      { key: empty, value: anyBytes, headers },
      { key: anyBytes, value: Buffer.from('{"ä": "\u{1f600}"}'), headers: noHeaders },
    ])
  })

  test('topics are created once, with their settings, also by concurrent calls', async () => {
    const { topic, source } = on
    const asked = { topic, partitions: 3, settings: { 'cleanup.policy': 'compact', 'max.message.bytes': 60_000 } }
    const other = closed(new TopicUnderTest(kafka.client()))
    await Promise.all([source.createMissingTopics([asked]), other.source.createMissingTopics([asked])])
    await source.createMissingTopics([{ ...asked, partitions: 5 }])
    await eventually(async () => (await on.ranges().catch(() => [])).length === 3)
    const names = ['cleanup.policy', 'message.timestamp.type', 'max.message.bytes']
    const setting = await source.topicSettings([topic], names)
    expect(names.map((name) => setting(topic, name))).toEqual(['compact', 'CreateTime', '60000'])
    expect(() => setting(topic, 'retention.ms')).toThrow(`Kafka does not return retention.ms of ${topic}`)
    await expect(source.topicSettings([`${topic}-missing`], names)).rejects.toThrow('does not host this topic')
  })

  test('a topic can be read to its end, in ranges, and after records were removed', async () => {
    await on.create(2)
    expect(await on.read()).toEqual([])
    const [first = ''] = await on.keyOfEach(2)
    const [{ high: start } = { high: 0n }, { high: otherEnd } = { high: 0n }] = await on.ranges()
    await on.append(['a', 'b', 'c', 'd'], first)
    const readRange = async (from: bigint, to: bigint) =>
      texts(await on.read(new Map([[0, { from: start + from, to: start + to }]])))
    expect(await readRange(1n, 3n)).toEqual(['b', 'c'])
    expect(await readRange(3n, 99n)).toEqual(['d'])
    expect(await readRange(4n, 99n)).toEqual([])
    await kafka.deleteBelow(on.topic, 0, start + 2n)
    await kafka.deleteBelow(on.topic, 1, otherEnd)
    expect(await on.ranges()).toEqual([
      { low: start + 2n, high: start + 4n },
      { low: otherEnd, high: otherEnd },
    ])
    expect(texts(await on.read())).toEqual(['c', 'd'])
  })

  test('records after an open transaction are read once it has ended', async () => {
    await on.create(1)
    await on.append(['before'])
    const end = await kafka.beginTransaction(on.topic)
    await on.append(['behind'])
    expect(await on.ranges()).toEqual([{ low: 0n, high: 3n }])
    const reader = on.startReader()
    await eventually(() => reader.records.length > 0)
    let isRead = false
    const reading = on.read().finally(() => {
      isRead = true
    })
    await sleep(longQuietMs)
    expect([isRead, texts(reader.records)]).toEqual([false, ['before']])
    await end()
    expect(texts(await reading)).toEqual(['before', 'behind'])
    await eventually(() => reader.records.length === 2)
    expect(await on.ranges()).toEqual([{ low: 0n, high: 4n }])
  })

  test('a reader gets no markers and aborted records, but their append times', async () => {
    await on.create(1)
    await on.append(['before'])
    const abort = await kafka.beginTransaction(on.topic)
    await abort()
    let latestMs = 0
    let readTo = 0n
    on.startReader({
      onBatch: async ({ records, skippedAtMs }) => {
        for (const { appendedAtMs } of records) latestMs = Math.max(latestMs, appendedAtMs)
        latestMs = Math.max(latestMs, skippedAtMs ?? 0)
        return true
      },
      onBatchEnd: (_partition, _from, lastOffset) => {
        readTo = lastOffset + 1n
      },
    })
    await eventually(async () => readTo === (await on.ranges())[0]?.high)
    expect(await on.source.offsetsAfter([{ topic: on.topic, partition: 0, afterMs: latestMs }])).toEqual(new Map())
  })

  test('compaction leaves the newest record of each key, at its offset', async () => {
    await kafka.createCompacted(on.topic)
    await on.append(['a', 'b', 'c'], 'first')
    await on.append(['d', 'e'], 'second')
    await on.append(['f'], 'first')
    const left = async () => (await on.read()).filter(({ value }) => value !== null)
    await eventually(async () => {
      await kafka.compact(on.topic)
      return (await left()).length === 2
    })
    expect((await left()).map(({ offset, key, value }) => [offset, String(key), String(value)])).toEqual([
      [4n, 'second', 'e'],
      [5n, 'first', 'f'],
    ])
    const reader = on.startReader()
    await eventually(() => texts(reader.records).includes('f'))
    expect(texts(reader.records.filter(({ value }) => value !== null))).toEqual(['e', 'f'])
  })

  test('a group keeps the offsets that its members commit, with their metadata', async () => {
    const { topic, groupId, source } = on
    await on.create(2)
    const { member, assigned } = on.startReader()
    await eventually(() => assigned().length === 2)
    expect(await source.committedOffsets(groupId, [topic])).toEqual([])
    await member.commit([{ topic, partition: 1, position: toOffset('0'), metadata: 'generation 1' }])
    await member.commit([{ topic, partition: 1, position: toOffset('1'), metadata: '' }])
    const other = { topic, partition: 0, position: toOffset('7'), metadata: '{"ä":1}' }
    await member.commit([other])
    const committed = await source.committedOffsets(groupId, [topic])
    expect(committed.toSorted((a, b) => a.partition - b.partition)).toEqual([
      other,
      { topic, partition: 1, position: 1n, metadata: '' },
    ])
    expect(await source.committedOffsets(`${groupId}-other`, [topic])).toEqual([])
  })

  test('a member reads from the requested offset, and gets records again that it did not accept', async () => {
    await on.create(1)
    await on.append(numbered(20))
    const starts: bigint[] = []
    let lastEnd = -1n
    const reader: GroupReader = on.startReader({
      onAssigned: async ([first]) => first && reader.member.readFrom([{ ...first, nextOffset: 5n }]),
      onBatch: async ({ position, records }) => {
        starts.push(position)
        let asked = 0
        for (const record of records) {
          if (asked++ === 3) return false
          reader.records.push(record)
        }
        return true
      },
      onBatchEnd: (_at, _from, lastOffset) => {
        lastEnd = lastOffset
      },
    })
    await eventually(() => lastEnd === 19n)
    expect(texts(reader.records)).toEqual(numbered(20).slice(5))
    // Each fetch begins where the one before was left.
    expect(starts[0]).toBe(5n)
    expect(starts).toEqual([...new Set(starts)].toSorted((a, b) => Number(a - b)))
    expect(starts.length).toBeGreaterThanOrEqual(5)
    await on.append(['20'])
    await eventually(() => reader.records.length === 16)
  })

  test('a partition is not read before its member fetches from it, or while it is paused', async () => {
    await on.create(2)
    const [first = '', second = ''] = await on.keyOfEach(2)
    const ends = await on.ranges()
    const at = (partition: number) => ({ topic: on.topic, partition })
    const fromEnd = (partition: number) => [{ ...at(partition), nextOffset: ends[partition]?.high ?? 0n }]
    const { member, records }: GroupReader = on.startReader({ onAssigned: async () => member.readFrom(fromEnd(0)) })
    await on.append(['a'], second)
    await on.append(['b'], first)
    await eventually(() => records.length > 0)
    await on.append(['c'], first)
    await eventually(() => records.length > 1)
    expect(texts(records)).toEqual(['b', 'c'])

    member.pause([at(0)])
    member.readFrom(fromEnd(1))
    await on.append(['d'], first)
    await eventually(() => records.length > 2)
    await on.append(['e'], second)
    await eventually(() => records.length > 3)
    expect(texts(records)).toEqual(['b', 'c', 'a', 'e'])

    member.resume([at(0)])
    await eventually(() => records.length > 4)
    expect(texts(records)).toEqual(['b', 'c', 'a', 'e', 'd'])
  })

  test('an offset out of range ends the member, and the commits of its group stay', async () => {
    await on.create(1)
    await on.append(['a', 'b', 'c'])
    const at = { topic: on.topic, partition: 0 }
    const committed = { ...at, position: toOffset('2'), metadata: 'generation 1' }
    const { member, records, ended } = on.startReader()
    await eventually(() => records.length === 3)
    await member.commit([committed])
    member.readFrom([{ ...at, nextOffset: 99n }])
    await expect(ended).rejects.toThrow('not within the range')
    expect(await on.source.committedOffsets(on.groupId, [on.topic])).toEqual([committed])
  })

  test('a member whose callback throws ends with the error, and releases its partitions', async () => {
    await on.create(1)
    await on.append(['a'])
    const reader = on.startReader({ onBatch: () => Promise.reject(new Error('cannot take it')) })
    await expect(reader.ended).rejects.toThrow('cannot take it')
    expect(await on.source.groupMembers(on.groupId)).toEqual([])
  })

  test('members share the partitions; when one leaves, the others continue from its commits', async () => {
    const { topic, groupId, source } = on
    await on.create(4)
    const keys = await on.keyOfEach(4)
    const positions = (await on.ranges()).map(({ high }, partition) => {
      return { topic, partition, position: toOffset(String(high)), metadata: '' }
    })
    const first = on.startReader()
    await eventually(() => first.assigned().length === 4)
    await first.member.commit(positions)
    const second = on.startReader()
    await eventually(() => first.assigned().length === 2 && second.assigned().length === 2)
    expect([...first.assigned(), ...second.assigned()].toSorted()).toEqual(positions.map(partitionName))
    const members = await source.groupMembers(groupId)
    expect(members.map(({ partitions }) => partitions.map(partitionName).toSorted()).toSorted()).toEqual(
      [first.assigned(), second.assigned()].toSorted(),
    )

    const before = first.records.length
    for (const key of keys) await on.append([`to ${key}`], key)
    await eventually(() => first.records.length - before === 2 && second.records.length === 2)
    expect(new Set(second.records.map(partitionName))).toEqual(new Set(second.assigned()))

    await first.close()
    await eventually(() => second.assigned().length === 4 && second.records.length >= 6)
    expect(new Set(texts(second.records))).toEqual(new Set(keys.map((key) => `to ${key}`)))
    expect(await source.groupMembers(groupId)).toHaveLength(1)
  })
})

describe('the real and the simulated Kafka', () => {
  /** Runs something that takes long, or is compared, on both. */
  const onBoth = async <Seen>(act: (on: TopicUnderTest, kafka: KafkaUnderTest) => Promise<Seen>): Promise<Seen[]> =>
    await Promise.all(
      [realKafka(), simulatedKafka()].map((kafka) => act(closed(new TopicUnderTest(kafka.client())), kafka)),
    )

  test('assign added partitions to a member', async () => {
    await onBoth(async (on, kafka) => {
      await on.create(1)
      const reader = on.startReader()
      await eventually(() => reader.assigned().length === 1)
      await kafka.addPartition(on.topic)
      await eventually(() => reader.assigned().length === 2)
    })
  })

  test('take the partitions from a member without a heartbeat, and refuse its commits', async () => {
    await onBoth(async (on) => {
      const { topic, groupId, source } = on
      await on.create(2)
      await on.append(['a', 'b'])
      const stuck: FetchedBatch[] = []
      const end = Promise.withResolvers<boolean>()
      const first = on.startReader({
        onBatch: async (batch) => {
          stuck.push(batch)
          return await end.promise
        },
      })
      await eventually(() => stuck.length === 1)
      const at = { topic, partition: stuck[0]?.partition ?? -1 }
      await first.member.commit([{ ...at, position: toOffset('1'), metadata: 'in time' }])
      const second = on.startReader()
      await eventually(() => second.assigned().length === 2)
      await eventually(() => second.records.length === 1)
      expect(texts(second.records)).toEqual(['b'])
      const late = [{ ...at, position: toOffset('2'), metadata: 'late' }]
      await expect(first.member.commit(late)).rejects.toThrow('not aware of this member')
      await expect(stuck[0]?.wait(1)).rejects.toThrow('not aware of this member')
      expect(await source.committedOffsets(groupId, [topic])).toMatchObject([{ metadata: 'in time' }])
      end.resolve(false)
    })
  })
})
