import { pino } from 'pino'
import { assignPartition } from '../../../indexer/assignedPartition.ts'
import { replacedAfterMs, unreadLog } from '../../../indexer/logReplacement.ts'
import { ProgressPublisher, type RoundResult } from '../../../indexer/progressPublisher.ts'
import type { VisibleRound } from '../../../indexer/roundForRedis.ts'
import type { GenerationTag } from '../../../src/core/elasticsearch/indices.ts'
import type { PartitionCommit } from '../../../src/core/kafka/consumerGroup.ts'
import { type Offset, type TeamId, teamList } from '../../../src/core/model/ids.ts'
import { failed, passed } from '../../../src/core/monitoring/health.ts'
import { maxListsPerRound } from '../../../src/core/redis/visiblePositions.ts'
import { eventually } from '../../support/eventually.ts'

const forms = 'forms/0'
const list = teamList('forms', 'acme' as TeamId)
const at = (offset: number): Offset => BigInt(offset) as Offset

function setting(options: { start?: number; high: number }) {
  const start = {
    ...{ position: at(options.start ?? 0), deadLetteredBelow: at(0) },
    ...{ coveredUntilMs: 1, log: unreadLog },
  }
  const assigned = assignPartition({ topic: 'forms', partition: 0 }, start, () => Number.POSITIVE_INFINITY)
  const { offsets } = assigned
  /** At least `high`, and nothing is read beyond it. */
  const end = (): bigint => {
    const { position } = current.assigned.offsets.progress()
    return position > current.end ? position : BigInt(current.end)
  }
  const current = {
    ...{ assigned, end: options.high, redisMs: Number.POSITIVE_INFINITY, nowMs: 100_000 },
    ...{ isBehind: false, isLocked: false, looks: 0 },
  }
  const steps: string[] = []
  const rounds: VisibleRound[] = []
  const commits: PartitionCommit[] = []
  const failing = new Set<string>()
  /** What happens once while a step is under way. */
  const during = new Map<string, () => void>()
  const step = async (name: string, detail = ''): Promise<void> => {
    if (failing.has(name)) throw new Error(`${name} fails`)
    steps.push(name + detail)
    during.get(name)?.()
    during.delete(name)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const publisher = new ProgressPublisher({
    consumer: {
      assigned: () => [current.assigned],
      commit: (all) => {
        commits.push(...all)
        return step('commit', all.map((each) => ` ${each.position}`).join(''))
      },
      rejoin: () => void steps.push('rejoin'),
    },
    tag: '1-0123456789abcdef' as GenerationTag,
    offsetRanges: async () => new Map([[forms, { topic: 'forms', partition: 0, low: 0n, high: end() }]]),
    refresh: () => step('refresh'),
    publishVisible: async (round) => {
      if (round.lists.length > 0) await step('tokens', ` ${round.lists.join()}`)
      rounds.push(round)
      const outcome = current.isLocked ? 'locked' : 'complete'
      return { outcome, serving: undefined, watermarkMs: undefined }
    },
    redisTimeMs: async () => current.redisMs,
    afterRound: async ({ outcome }): Promise<RoundResult> => {
      await step('after', ` ${outcome}`)
      return 'continue'
    },
    isBehind: () => {
      current.looks++
      return current.isBehind
    },
    clock: () => current.nowMs,
    elapsedMs: () => current.nowMs,
    log: pino({ level: 'silent' }),
  })
  /** Hands a record of the list to the writer; the returned function acknowledges its write. */
  const submit = (offset: number, of = list): (() => void) => {
    const entry = offsets.track(at(offset), 50)
    return () => {
      assigned.visible.noteWrite(of, at(offset))
      publisher.noteWrite(of)
      offsets.markProcessed(entry)
    }
  }
  return { offsets, current, publisher, submit, steps, commits, rounds, failing, during }
}

const visible = ['refresh', 'tokens forms/acme']

describe('A round', () => {
  const order = [...visible, 'commit 1', 'after complete']
  /** One record is written and acknowledged. */
  const written = (): ReturnType<typeof setting> => {
    const bench = setting({ high: 1 })
    bench.submit(0)()
    return bench
  }

  test('refreshes written documents, publishes them with new tokens, and commits last', async () => {
    const { publisher, steps } = written()
    await publisher.publish()
    await publisher.publish()
    expect(steps).toEqual([...order, 'after complete'])
  })

  test.each(order.map((step, at) => [step.split(' ')[0] ?? '', at] as const))(
    'whose step "%s" fails commits nothing; the next round repeats it, and no other step',
    async (step, at) => {
      const { publisher, steps, failing } = written()
      failing.add(step)
      await expect(publisher.publish()).rejects.toThrow(`${step} fails`)
      // What was refreshed in part is visible all the same.
      const tokens = step === 'refresh' ? ['tokens forms/acme'] : []
      expect(steps).toEqual([...order.slice(0, at), ...tokens])
      failing.clear()
      await publisher.publish()
      expect(steps).toEqual([...order.slice(0, at), ...tokens, ...order.slice(at)])
    },
  )
})

test('a round that is requested while another refreshes begins after it, and commits only what it has refreshed', async () => {
  const { offsets, publisher, steps, during } = setting({ high: 1 })
  offsets.markProcessed(offsets.track(at(0), 50))
  publisher.noteWrite(list)
  let second: Promise<RoundResult> | undefined
  during.set('refresh', () => {
    second = publisher.publish()
  })
  await publisher.publish()
  await second
  expect(steps.slice(0, 4)).toEqual([...visible, 'commit 1', 'after complete'])
  expect(steps.filter((each) => each.startsWith('commit'))).toHaveLength(1)
})

test('a partition that was given to another indexer is no longer committed', async () => {
  const { offsets, current, publisher, steps, during } = setting({ high: 1 })
  offsets.markProcessed(offsets.track(at(0), 50))
  publisher.noteWrite(list)
  during.set('refresh', () => {
    current.assigned = { ...current.assigned }
  })
  await publisher.publish()
  expect(steps).toEqual(['refresh', 'tokens forms/acme', 'after complete'])
})

test('an idle partition is published with the time of each round, and committed once a second', async () => {
  const { publisher, steps, rounds, current } = setting({ start: 7, high: 7 })
  for (const nowMs of [100_000, 100_999, 101_000]) {
    current.nowMs = nowMs
    await publisher.publish()
  }
  expect(rounds.map(({ partitions }) => partitions[0]?.timeMs)).toEqual([100_000, 100_999, 101_000])
  expect(steps.filter((each) => each.startsWith('commit'))).toHaveLength(2)
})

test('a time is published only once every record appended before it is processed', async () => {
  const { offsets, publisher, rounds, current } = setting({ high: 0 })
  await publisher.publish()
  offsets.markProcessed(offsets.track(at(0), 50))
  const entry = offsets.track(at(1), 60)
  current.end = 2
  for (const nowMs of [200_000, 300_000]) {
    current.nowMs = nowMs
    await publisher.publish()
  }
  offsets.markProcessed(entry)
  await publisher.publish()
  expect(rounds.map(({ partitions }) => partitions[0]?.timeMs)).toEqual([100_000, 100_000, 100_000, 300_000])
})

test('a partition is reported as visible as far as it is committed', async () => {
  const { offsets, publisher, failing } = setting({ start: 3, high: 4 })
  expect(publisher.visible()).toEqual([])
  offsets.markProcessed(offsets.track(at(3), 4_000))
  publisher.noteWrite(list)
  failing.add('commit')
  await expect(publisher.publish()).rejects.toThrow('commit fails')
  expect(publisher.visible()).toMatchObject([{ topic: 'forms', partition: 0, to: 3n }])
  failing.clear()
  await publisher.publish()
  expect(publisher.visible()).toMatchObject([{ topic: 'forms', partition: 0, to: 4n }])
})

test('a visible position is reported with the time that was published with it, also during the next round', async () => {
  const { current, publisher, submit, during } = setting({ high: 0 })
  await publisher.publish()
  const before = [{ topic: 'forms', partition: 0, to: 0n, timeMs: 100_000 }]
  expect(publisher.visible()).toEqual(before)
  submit(0)()
  Object.assign(current, { end: 1, nowMs: 200_000 })
  let meanwhile: unknown
  during.set('refresh', () => {
    meanwhile = publisher.visible()
  })
  await publisher.publish()
  expect(meanwhile).toEqual(before)
  expect(publisher.visible()).toEqual([{ topic: 'forms', partition: 0, to: 1n, timeMs: 200_000 }])
})

describe('A partition whose topic may have been replaced', () => {
  /** What Kafka answered twice, half a minute apart, where the topic of two records that were read has one of a later time. */
  function replaced() {
    const bench = setting({ high: 2 })
    const { assigned } = bench.current
    bench.submit(0)()
    bench.submit(1)()
    const answer = { high: 1n, firstLater: 0n }
    const check = (elapsedMs: number): boolean =>
      assigned.log.endCheck(assigned.log.prefixUpTo(2n), [answer], elapsedMs)
    assigned.log.endCheck(assigned.log.prefixUpTo(2n), [{ high: 2n, firstLater: undefined }], 0)
    return { ...bench, assigned, check }
  }

  test('is committed, but not published while this is uncertain', async () => {
    const { publisher, check, rounds, steps } = replaced()
    check(0)
    await publisher.publish()
    expect(rounds).toMatchObject([{ partitions: [] }])
    expect(steps).toContain('commit 2')
  })

  test('is not published if its end is below the offsets that were read', async () => {
    const { publisher, current, rounds } = setting({ start: 7, high: 7 })
    const log = { isReplaced: false, prefixes: [{ below: 9n, latestMs: 50 }] }
    const start = { ...current.assigned.start, log }
    current.assigned = assignPartition({ topic: 'forms', partition: 0 }, start, () => Number.POSITIVE_INFINITY)
    await publisher.publish()
    expect(rounds).toMatchObject([{ partitions: [] }])
  })

  test('is committed as replaced once this is certain, even if nothing was read since', async () => {
    const { publisher, check, commits } = replaced()
    check(0)
    await publisher.publish()
    check(replacedAfterMs)
    await publisher.publish()
    await publisher.publish()
    expect(commits.map(({ position, metadata }) => `${position} ${metadata.split(' ').at(-1)}`)).toEqual([
      '2 2:0',
      '2 replaced',
    ])
  })

  test('is read again from its beginning, with new dead letters, unless another indexer owns it', async () => {
    const { publisher, check, assigned, commits, steps } = replaced()
    check(0)
    check(replacedAfterMs)
    const other = assignPartition(assigned, assigned.start, () => 1)
    await publisher.readAgain([{ partition: other, low: at(0) }])
    expect(steps).toEqual([])
    await publisher.readAgain([{ partition: assigned, low: at(0) }])
    expect(commits).toMatchObject([{ position: 0n, metadata: expect.stringMatching(/^\S+ 0 .* replaced$/) }])
    expect(steps.at(-1)).toBe('rejoin')
  })
})

describe('A visible position', () => {
  const partition = { topic: 'forms', partition: 0 }

  test('goes on from the previous one, with the lists that changed since', async () => {
    const { submit, publisher, rounds } = setting({ start: 3, high: 4 })
    submit(3)()
    await publisher.publish()
    submit(4)()
    await publisher.publish()
    expect(rounds).toMatchObject([
      { lists: [list], changesEveryList: false, partitions: [{ ...partition, from: 3n, to: 4n }] },
      { lists: [list], changesEveryList: false, partitions: [{ ...partition, from: 4n, to: 5n }] },
    ])
  })

  test('is first published at the end that the partition had when it was assigned, with a change of every list', async () => {
    const { submit, publisher, rounds } = setting({ high: 2 })
    const [first, second, third] = [submit(0), submit(1), submit(2)]
    first()
    await publisher.publish()
    second()
    await publisher.publish()
    third()
    await publisher.publish()
    expect(rounds).toMatchObject([
      { partitions: [], changesEveryList: false },
      { partitions: [{ from: 0n, to: 2n }], changesEveryList: true },
      { partitions: [{ from: 2n, to: 3n }], changesEveryList: false },
    ])
  })

  test('stops below offsets that compaction has removed, until their later records are read', async () => {
    const { submit, current, publisher, rounds } = setting({ high: 0 })
    await publisher.publish()
    current.assigned.visible.noteGap(3n)
    submit(1)()
    await publisher.publish()
    submit(2)()
    await publisher.publish()
    expect(rounds).toMatchObject([
      { partitions: [{ from: 0n, to: 0n }] },
      { partitions: [] },
      { partitions: [{ from: 0n, to: 3n }], changesEveryList: true },
    ])
  })

  test('is published again with every list, after a rebuild that was switching has refused it', async () => {
    const { submit, current, publisher, rounds, steps } = setting({ high: 1 })
    submit(0)()
    current.isLocked = true
    await publisher.publish()
    expect(steps).toContain('commit 1')
    current.isLocked = false
    await publisher.publish()
    expect(rounds).toMatchObject([
      { lists: [list], changesEveryList: false, partitions: [{ from: 0n, to: 1n }] },
      { lists: [list], changesEveryList: true, partitions: [{ from: 0n, to: 1n }] },
    ])
  })

  test('gives a list another version if the change became visible before its position could be published', async () => {
    const { submit, publisher, rounds } = setting({ high: 0 })
    const other = teamList('forms', 'other' as TeamId)
    await publisher.publish()
    const [first, second, third] = [submit(0), submit(1, other), submit(2, other)]
    second()
    await publisher.publish()
    first()
    await publisher.publish()
    third()
    await publisher.publish()
    await publisher.publish()
    expect(rounds.slice(1)).toMatchObject([
      { lists: [other], partitions: [{ from: 0n, to: 0n }] },
      { lists: [list, other], partitions: [{ from: 0n, to: 2n }] },
      { lists: [other], partitions: [{ from: 2n, to: 3n }] },
      { lists: [], partitions: [{ from: 3n, to: 3n }] },
    ])
  })

  test('comes with a change of every list instead of thousands of single ones', async () => {
    const { publisher, rounds } = setting({ high: 0 })
    for (let team = 0; team <= maxListsPerRound; team++)
      publisher.noteWrite(teamList('forms', `team-${team}` as TeamId))
    await publisher.publish()
    expect(rounds).toMatchObject([{ lists: [], changesEveryList: true }])
  })
})

/** Runs the publisher while `body` watches it, and stops it. */
async function whileRunning(
  { publisher, steps }: ReturnType<typeof setting>,
  body: (refreshes: () => number) => Promise<void>,
): Promise<void> {
  const stop = new AbortController()
  const running = publisher.run(stop.signal)
  try {
    await body(() => steps.filter((each) => each === 'refresh').length)
  } finally {
    stop.abort()
    await running
  }
}

/** Waits until the publisher has looked twice whether a round is due. */
const looksAgain = async (current: { readonly looks: number }): Promise<void> => {
  const before = current.looks
  await eventually(() => current.looks >= before + 2)
}

/** Lets a round end that has begun. */
const someTurns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('the first write after a pause is published at once, whatever the clock reads', async () => {
  const bench = setting({ high: 1 })
  await whileRunning(bench, async (refreshes) => {
    await someTurns()
    expect(bench.steps).toEqual(['commit 0', 'after complete'])
    bench.publisher.noteWrite(list)
    await someTurns()
    expect(refreshes()).toBe(1)
  })
})

test.each([
  ['as long as the refresh took', 60, 60, false],
  ['a tenth of a second at most', 5_000, 100, false],
  ['a quarter of a second where it failed', 0, 250, true],
])('later writes are published together, after a pause of %s', async (_rest, tookMs, restMs, fails) => {
  const bench = setting({ high: 100 })
  const { current, publisher, during, failing } = bench
  during.set('refresh', () => {
    current.nowMs += tookMs
  })
  if (fails) failing.add('refresh')
  await whileRunning(bench, async (refreshes) => {
    for (let write = 0; write < 50; write++) publisher.noteWrite(list)
    await someTurns()
    expect(publisher.health).toEqual(fails ? failed('refresh fails') : passed)
    failing.clear()
    const before = fails ? 0 : 1
    for (let write = 0; write < 50; write++) {
      publisher.noteWrite(list)
      await someTurns()
    }
    current.nowMs += restMs - 1
    await looksAgain(current)
    expect(refreshes()).toBe(before)
    current.nowMs += 1
    await eventually(() => refreshes() === before + 1)
  })
})

test('a stop ends a pause at once', async () => {
  const stop = new AbortController()
  const running = setting({ high: 0 }).publisher.run(stop.signal)
  await someTurns()
  stop.abort()
  expect(await Promise.race([running, someTurns().then(() => 'paused')])).toBeUndefined()
})

test('an indexer that is far behind makes its writes visible every ten seconds, and soon once it has caught up', async () => {
  const bench = setting({ high: 2 })
  const { publisher, current } = bench
  current.isBehind = true
  await whileRunning(bench, async (refreshes) => {
    publisher.noteWrite(list)
    await eventually(() => refreshes() === 1)
    publisher.noteWrite(list)
    current.nowMs += 9_999
    await looksAgain(current)
    expect(refreshes()).toBe(1)
    current.nowMs += 1
    await eventually(() => refreshes() === 2)
    publisher.noteWrite(list)
    current.nowMs += 250
    await looksAgain(current)
    expect(refreshes()).toBe(2)
    current.isBehind = false
    await eventually(() => refreshes() === 3)
  })
})

test("the time of a round is that of the slower clock, the indexer's or that of Redis", async () => {
  const { current, publisher, rounds } = setting({ start: 7, high: 7 })
  current.redisMs = 95_000
  await publisher.publish()
  current.redisMs = 105_000
  await publisher.publish()
  expect(rounds.map(({ partitions }) => partitions[0]?.timeMs)).toEqual([95_000, 100_000])
  expect(publisher.clockOffsetMs).toBe(-5_000)
})
