import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import { SourceConsumer } from '../../../indexer/consumer.ts'
import { unreadLog } from '../../../indexer/logReplacement.ts'
import { aborted } from '../../../src/core/config/preflight.ts'
import type { GroupMember, GroupOptions } from '../../../src/core/kafka/consumerGroup.ts'
import { Undecodable } from '../../../src/core/kafka/recordBatches.ts'
import { noHeaders } from '../../../src/core/kafka/recordHeaders.ts'
import type { KafkaSource } from '../../../src/core/kafka/source.ts'
import { partitionName, type SourceRecord, type TopicPartition } from '../../../src/core/kafka/sourceRecord.ts'
import type { Offset } from '../../../src/core/model/ids.ts'
import { failed, passed } from '../../../src/core/monitoring/health.ts'
import { eventually } from '../../support/eventually.ts'
import { heapBytes } from '../../support/heapBytes.ts'

const forms = { topic: 'forms', partition: 0 }
const at = (offset: number): Offset => BigInt(offset) as Offset
const submissions = { topic: 'submissions', partition: 0 }
const assignedTopics = { forms: [forms], 'forms and submissions': [forms, { ...forms, partition: 1 }, submissions] }
const record = (offset: number, of: TopicPartition = forms, value: Buffer = Buffer.alloc(100)): SourceRecord => ({
  ...{ ...of, offset: at(offset), appendedAtMs: offset },
  ...{ key: Buffer.from('acme/f1'), value, headers: noHeaders },
})

/** A consumer of one partition. Its members do what `run` says; records are processed when the test says so. */
function setting(
  options: {
    maxBytes?: number
    random?: number
    topics?: keyof typeof assignedTopics
    run?: (join: () => void) => Promise<void>
  } = {},
) {
  const partitions = assignedTopics[options.topics ?? 'forms']
  const start = { position: at(0), deadLetteredBelow: at(0), coveredUntilMs: 0, promisedMs: 0, log: unreadLog }
  /** The partitions that are paused in the group, by name. */
  const paused = new Set<string>()
  const attempts: number[] = []
  const processed = new Map<bigint, () => void>()
  /** What the records are processed by, as they were taken. */
  const taken: { readonly record: SourceRecord; readonly process: () => void }[] = []
  let waits = 0
  const wait = async (): Promise<void> => {
    waits++
    await nextTurn()
  }
  let members = 0
  let group: GroupOptions | undefined
  const groupMember = (of: GroupOptions): GroupMember => {
    members++
    group = of
    return {
      run: async (signal) => {
        if (options.run !== undefined) return await options.run(() => void of.onAssigned(partitions))
        await of.onAssigned(partitions)
        await aborted(signal).catch(() => undefined)
      },
      readFrom: () => undefined,
      pause: (each) => void each.map(partitionName).forEach((name) => void paused.add(name)),
      resume: (each) => void each.map(partitionName).forEach((name) => void paused.delete(name)),
      commit: async () => undefined,
      leave: async () => undefined,
    }
  }
  const hears = {
    write: (line: string) => {
      const { attempts: count } = JSON.parse(line)
      if (count !== undefined) attempts.push(count)
    },
  }
  const consumer = new SourceConsumer({
    source: { groupMember } as unknown as KafkaSource,
    ...{
      groupId: 'indexers',
      topics: [...new Set(partitions.map(({ topic }) => topic))],
      maxInFlightBytes: options.maxBytes ?? 1_000_000,
    },
    startOffsets: async () => new Map(partitions.map((each) => [partitionName(each), start])),
    onRecord: (each, _assigned, onProcessed) => {
      taken.push({ record: each, process: onProcessed })
      processed.set(each.offset, onProcessed)
    },
    keptMs: () => 1,
    onRebalance: () => undefined,
    random: () => options.random ?? 0,
    log: pino({ level: 'warn' }, hears),
  })
  const bringOf = async (of: TopicPartition, records: readonly SourceRecord[], undecodable?: Undecodable) => {
    const batch = {
      ...of,
      position: records[0]?.offset ?? at(0),
      records,
      undecodable,
      gapBelow: undefined,
      skippedAtMs: undefined,
    }
    const isTaken = await group?.onBatch({ ...batch, isReading: () => true, wait })
    const last = records.at(-1)?.offset ?? at(0)
    if (isTaken) group?.onBatchEnd(of, last + 1n, last)
    return isTaken
  }
  /** Brings the records of these offsets; tells whether all of them were taken. */
  const bring = (offsets: readonly number[], undecodable?: Undecodable): Promise<boolean | undefined> =>
    bringOf(
      forms,
      offsets.map((offset) => record(offset)),
      undecodable,
    )
  const bringMarkers = (from: number, last: number): void => group?.onBatchEnd(forms, BigInt(from), at(last))
  const process = (offset: number): void => processed.get(BigInt(offset))?.()
  const position = (): bigint | undefined => consumer.assigned()[0]?.offsets.progress().position
  const assignAgain = async (): Promise<void> => await group?.onAssigned(partitions)
  return {
    ...{
      consumer,
      attempts,
      processed,
      assignAgain,
      bring,
      bringOf,
      paused,
      taken,
      bringMarkers,
      process,
      position,
    },
    waits: () => waits,
    members: () => members,
  }
}

const span = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, each) => from + each)
type Bench = ReturnType<typeof setting>
const untilAssigned = ({ consumer }: Bench): Promise<void> => eventually(() => consumer.assigned().length > 0)

let running: { bench: Bench; run: Promise<void> } | undefined
function run(bench: Bench): Bench {
  running = { bench, run: bench.consumer.run() }
  return bench
}
afterEach(async () => {
  await running?.bench.consumer.leave()
  await running?.run
})
async function joined(options: Parameters<typeof setting>[0] = {}): Promise<Bench> {
  const bench = run(setting(options))
  await untilAssigned(bench)
  return bench
}

/** Brings the records of a partition up to an offset, but none while it is paused, as the group does. */
async function deliver(bench: Bench, of: TopicPartition, end: number): Promise<void> {
  const stateOf = () => bench.consumer.assigned().find((each) => partitionName(each) === partitionName(of))
  for (let state = stateOf(); state !== undefined && state.nextOffset < end; state = stateOf()) {
    const records = span(Number(state.nextOffset), end).map((offset) => record(offset, of))
    if (!bench.paused.has(partitionName(of))) await bench.bringOf(of, records)
    await nextTurn()
  }
}

test('reading pauses once the records behind a stuck one fill the memory, and goes on after it', async () => {
  const bench = await joined({ maxBytes: 30_000 })
  const delivered = deliver(bench, forms, 400)
  let done = 0
  const processOthers = (): void => {
    for (const offset of bench.processed.keys())
      if (offset > 0n && offset >= BigInt(done)) {
        bench.process(Number(offset))
        done = Number(offset) + 1
      }
  }
  // As many as there is room for come, and no more.
  await eventually(() => {
    processOthers()
    return bench.paused.has('forms/0')
  })
  expect(bench.consumer.inFlightBytes).toBeGreaterThan(28_000)
  expect(bench.processed.size).toBeGreaterThan(100)
  expect(bench.processed.size).toBeLessThan(300)
  expect(bench.position()).toBe(0n)
  // It stays a member of its group.
  expect(bench.waits()).toBeGreaterThan(0)
  bench.process(0)
  await eventually(() => {
    processOthers()
    return bench.position() === 400n
  })
  await delivered
  expect(bench.consumer.inFlightBytes).toBe(0)
})

test('records of one topic that wait for ever leave memory for every other topic', async () => {
  const bench = await joined({ maxBytes: 100_000, topics: 'forms and submissions' })
  const others = { ...forms, partition: 1 }
  for (const each of [forms, others]) deliver(bench, each, 1_000).catch(() => undefined)
  await eventually(() => bench.paused.has('forms/0'))
  // The whole topic, so that each further partition holds nothing up.
  expect([...bench.paused]).toEqual(['forms/0', 'forms/1'])
  const waiting = bench.taken.splice(0)
  const delivered = deliver(bench, submissions, 500)
  await eventually(() => {
    for (const { process } of bench.taken.splice(0)) process()
    return bench.consumer.assigned()[2]?.nextOffset === 500n
  })
  await delivered
  expect(bench.paused.has('forms/0')).toBe(true)
  expect(bench.taken).toEqual([])
  // One that passes now and then is no reason to fetch a thousand again.
  waiting.shift()?.process()
  expect(bench.paused.has('forms/0')).toBe(true)
  for (const { process } of waiting) process()
  expect(bench.paused.has('forms/0')).toBe(false)
})

test('waiting records of a partition that is given away take no memory from new records', async () => {
  const bench = await joined({ maxBytes: 30_000 })
  await bench.bring(span(0, 15))
  const waiting = bench.taken.splice(0)
  for (const { process } of waiting.slice(1, 10)) process()
  expect(bench.consumer.inFlightBytes).toBeGreaterThan(0)
  await bench.assignAgain()
  for (const { process } of [...waiting.slice(0, 1), ...waiting.slice(10)]) process()
  expect([bench.consumer.inFlightBytes, bench.position()]).toEqual([0, 0n])
})

test('waiting records keep their own bytes in memory, not those of their fetches', async () => {
  const bench = await joined({ maxBytes: 30_000_000 })
  const heldBytes = (): number => heapBytes() + process.memoryUsage().arrayBuffers
  const before = heldBytes()
  for (let fetch = 0; fetch < 100; fetch++) {
    const fetched = Buffer.alloc(1_000_000)
    const records = span(fetch * 100, fetch * 100 + 100).map((offset) =>
      record(offset, forms, fetched.subarray(0, 10_000)),
    )
    await bench.bringOf(forms, records)
    // Three of each fetch wait.
    for (const each of bench.taken.splice(fetch * 3 + 3)) each.process()
    bench.processed.clear()
  }
  expect(bench.taken).toHaveLength(300)
  // Node frees the memory of buffers on another thread, some time after their collection.
  await eventually(async () => heldBytes() - before < bench.consumer.inFlightBytes)
})

test('a partition pauses at an undecodable batch until the batch can be decoded', async () => {
  const bench = await joined()
  expect(bench.consumer.decodingHealth()).toEqual(passed)
  expect(await bench.bring([0], new Undecodable('its checksum is wrong'))).toBe(false)
  expect(bench.consumer.decodingHealth()).toEqual(failed('forms/0: its checksum is wrong'))
  expect(await bench.bring([1])).toBe(true)
  expect(bench.consumer.decodingHealth()).toEqual(passed)
})

test('a late batch of an earlier assignment does not affect the next one', async () => {
  const bench = await joined({ maxBytes: 5_000 })
  expect(await bench.bring([0, 1])).toBe(true)
  bench.bringMarkers(2, 3)
  await bench.assignAgain()
  expect(() => bench.bringMarkers(4, 5)).toThrow('forms/0 was read from 4 instead of 0')
  expect(bench.position()).toBe(0n)
  const taken = bench.bring(span(0, 10))
  await eventually(() => bench.waits() > 0)
  await bench.assignAgain()
  for (const markProcessed of bench.processed.values()) markProcessed()
  expect([await taken, bench.position()]).toEqual([false, 0n])
})

test('the backoff after crashed members starts anew once a member has joined', async () => {
  let runs = 0
  const bench = setting({
    run: async (join) => {
      if (++runs === 4) {
        join()
        await untilAssigned(bench)
      }
      if (runs < 7) throw new Error('crashed')
      bench.consumer.stopFetching()
    },
  })
  await bench.consumer.run()
  expect(bench.attempts).toEqual([1, 2, 3, 1, 2, 3])
})

/** A wait is longer than any test then. */
const random = 1_000_000

test('a stop ends the backoff before the next member', async () => {
  const bench = setting({
    random,
    run: async () => {
      throw new Error('crashed')
    },
  })
  run(bench)
  await eventually(() => bench.attempts.length === 1)
})
