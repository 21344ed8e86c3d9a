import { type Level, likelyCauses, type Situation } from '../../../../indexer/status/likelyCauses.ts'
import type { Observed } from '../../../../indexer/status/observe.ts'
import type { Obstacle } from '../../../../indexer/status/ownState.ts'
import type { WatchedGroup } from '../../../../indexer/status/progressWatch.ts'
import { failed, passed } from '../../../../src/core/monitoring/health.ts'
import { observedState, ownState, watched, watchedGroup } from '../../../support/observedState.ts'

const nowMs = Date.parse('2026-11-29T10:05:05.000Z')
const visibleAtMs = Date.parse('2026-11-29T10:03:00.000Z')

const groupOf = (members: Partial<WatchedGroup> = {}, atMs = nowMs): Observed['group'] => ({
  atMs,
  value: watchedGroup({ partitions: [watched('forms/0'), watched('submissions/3')], ...members }),
})

type Given = Partial<Omit<Situation, 'own' | 'observed'>> & {
  readonly own?: Partial<Situation['own']>
  readonly observed?: Partial<Observed>
}

/** A replica in which everything is well, except for what is given. */
const causes = ({ own, observed, ...given }: Given = {}): readonly string[] =>
  likelyCauses({
    checks: [{ name: 'kafka', ...passed }],
    own: ownState(own),
    observed: observedState({
      group: groupOf(),
      watermarkMs: nowMs - 2_000,
      visibleMs: ({ topic }) => (topic === 'submissions' ? visibleAtMs : undefined),
      ...observed,
    }),
    rebuild: { kind: 'none' },
    nowMs,
    ...given,
  }).map(({ level, text }) => `${level satisfies Level}: ${text}`)

const place = { topic: 'submissions', partition: 3, offset: 120n }

test('without any cause, the page says until when everything is visible', () => {
  expect(causes()).toEqual(['success: All is well: everything up to 10:05:03 is visible.'])
  expect(causes({ observed: { group: undefined } })[0]).toMatch(/^warning: Not known yet/)
  expect(causes({ observed: { watermarkMs: undefined } })[0]).toMatch(/^warning: There is no watermark yet/)
  expect(causes({ observed: { watermarkMs: visibleAtMs } })).toEqual([
    'danger: Nothing newer than 10:03:00 is promised, and no cause is known here: see the other indexers. Partition forms/0 is furthest behind.',
  ])
})

test.each<[string, Obstacle]>([
  [
    'Records of partition submissions/3 wait since 10:03:00: the record at offset 120 cannot be indexed, and Kafka refuses its dead letter (MESSAGE_TOO_LARGE).',
    { kind: 'dead letter', ...place, reason: 'MESSAGE_TOO_LARGE' },
  ],
  [
    'Records of partition submissions/3 wait since 10:03:00: the record batch at offset 120 cannot be decoded (its checksum is wrong).',
    { kind: 'batch', ...place, reason: 'its checksum is wrong' },
  ],
  [
    'Records of partition account-keys/3 wait: the record batch at offset 120 cannot be decoded (its checksum is wrong).',
    { kind: 'batch', ...place, topic: 'account-keys', reason: 'its checksum is wrong' },
  ],
  ...Object.entries({
    '429 cluster_block_exception': 'its disk is full (429 cluster_block_exception)',
    '403 cluster_block_exception': 'a block was set (403 cluster_block_exception)',
    '503 unavailable_shards_exception': 'a shard has no primary (503 unavailable_shards_exception)',
    '404 index_not_found_exception': 'the indices were deleted (404 index_not_found_exception)',
    '403 security_exception': 'the indexer lacks a right, or its password is wrong (403 security_exception)',
    '429 circuit_breaking_exception': 'it is overloaded (429 circuit_breaking_exception)',
    'Request timed out': 'it is overloaded (Request timed out)',
    '500 odd_exception': '500 odd_exception',
  }).map(([reason, words]): [string, Obstacle] => [
    `Elasticsearch refuses writes since 10:04:05: ${words}. The record that waits longest is submissions/3/120.`,
    { kind: 'write', name: 'submissions/3/120, key acme/s1', forMs: 60_000, reason },
  ]),
])('%s', (text, obstacle) => {
  expect(causes({ own: { obstacles: [obstacle] } })).toEqual([`danger: ${text}`])
})

test('a write that is repeated for less than five seconds is no cause, nor one that waits for an engine', () => {
  const write = (forMs: number): Obstacle => ({ kind: 'write', name: 'forms/0/1', forMs, reason: 'away' })
  expect(causes({ own: { obstacles: [write(4_000)] } })[0]).toMatch('All is well')
  const checks = [{ name: 'elasticsearch', ...failed('does not answer: ECONNREFUSED') }]
  expect(causes({ checks, own: { obstacles: [write(60_000)] } })).toEqual([
    'danger: Elasticsearch does not answer: ECONNREFUSED.',
  ])
})

test('a partition without an owner is named, and so is a group without indexers, or in a rebalance', () => {
  const ofOwners = (...owners: (string | undefined)[]) => owners.map((owner, at) => watched(`forms/${at}`, { owner }))
  const withOwners = (owners: (string | undefined)[]) =>
    causes({ observed: { group: groupOf({ partitions: ofOwners(...owners) }) } })
  expect(withOwners(['a', undefined])).toEqual(['danger: No indexer owns forms/1.'])
  expect(withOwners(['a', ...Array(5).fill(undefined)])).toEqual([
    'danger: No indexer owns forms/1, forms/2, forms/3 and 2 more.',
  ])
  expect(withOwners([undefined, undefined])[0]).toMatch(/^warning: The indexers divide the partitions/)
  expect(causes({ observed: { group: groupOf({ indexers: [] }) } })).toEqual(['danger: No indexer reads: start one.'])
})

test('a replaced log and missed deletions ask for a rebuild, unless one is running', () => {
  const partitions = [watched('forms/0', { isReplaced: true }), watched('forms/1', { mayLackDeletions: true })]
  const observed = { group: groupOf({ partitions }) }
  expect(causes({ observed })).toEqual([
    'danger: The log of forms/0 was replaced: run a rebuild.',
    'danger: Kafka may have removed deletions of forms/1 before they were read: run a rebuild.',
  ])
  const running = { kind: 'running', readShare: 0, helpers: 0, report: undefined } as const
  expect(causes({ observed, rebuild: running })[0]).toBe(
    'danger: The log of forms/0 was replaced: a rebuild is running.',
  )
})

test('a rebuild that has ended half way is named with its last sign of life, and so is a switch', () => {
  const report = { generation: 2, phase: 'switch', done: null, total: null, perSecond: null, ageMs: 125_000 } as const
  expect(causes({ rebuild: { kind: 'left', readShare: 0.5, helpers: 0, report } })).toEqual([
    'warning: A rebuild has ended half way; its last sign of life was at 10:03:00: run it again.',
  ])
  expect(causes({ rebuild: { kind: 'left', readShare: 0.5, helpers: 0, report: undefined } })).toEqual([
    'warning: A rebuild has ended half way: run it again.',
  ])
  expect(causes({ rebuild: { kind: 'running', readShare: 1, helpers: 0, report } })[0]).toMatch(
    /^warning: A rebuild is switching/,
  )
})

test('records that stand for a minute have a cause that their indexer knows, or a transaction is open', () => {
  const standing = (forMs: number) => ({
    observed: {
      group: groupOf({
        partitions: [watched('submissions/3', { behindRecords: 5, standsSinceMs: nowMs - forMs })],
        processedPerSecond: 0,
      }),
      watermarkMs: visibleAtMs,
    },
  })
  expect(causes(standing(60_000))).toEqual([
    'danger: Records of partition submissions/3 wait since 10:03:00 at offset 120: the status page of its indexer at 10.0.0.4 says why, or a producer has left a transaction open.',
  ])
  const partitions = [{ ...place, isPaused: false }]
  expect(causes({ ...standing(60_000), own: { partitions } })[0]).toMatch(
    '120: a producer has left a transaction open.',
  )
  expect(causes(standing(59_000))[0]).toMatch('no cause is known')
  const obstacles: Obstacle[] = [{ kind: 'batch', ...place, reason: 'its checksum is wrong' }]
  expect(causes({ ...standing(60_000), own: { obstacles } })).toHaveLength(1)
  expect(causes({ ...standing(60_000), own: { pausedTopics: ['submissions'] } })).toEqual([
    'danger: Records of submissions wait: nearly all of them break the contract, so that their dead letters are paused.',
  ])
})

test('records that wait have their rates: how long they need, or which part is too slow', () => {
  const late = (processedPerSecond: number, appendedPerSecond: number) => ({
    observed: {
      group: groupOf({
        partitions: [watched('forms/0', { behindRecords: 12_000 })],
        ...{ processedPerSecond, appendedPerSecond },
      }),
      watermarkMs: visibleAtMs,
    },
  })
  const rates = '12,000 records wait; 3,000 a second are indexed'
  expect(causes(late(3_000, 1_000))).toEqual([`warning: ${rates}, 1,000 appended: about 6.0 s are left.`])
  expect(causes(late(3_000, 4_000))).toEqual([`danger: ${rates}, 4,000 appended: more indexers are needed.`])
  expect(causes({ ...late(3_000, 4_000), own: { inFlightBytes: 60 } })).toEqual([
    `danger: ${rates}, 4,000 appended: Elasticsearch is too slow.`,
  ])
})

test('times that Kafka does not store, and a clock that is wrong', () => {
  expect(causes({ own: { hasAppendTimes: false } })[0]).toMatch('lacks message.timestamp.type=LogAppendTime')
  expect(causes({ own: { clockOffsetMs: -4_000 } })).toEqual([
    'warning: The clock of this indexer is 4.0 s behind that of Redis: answers look older than they are.',
  ])
})

test('a check without another cause is told with its problem, and there are at most three causes', () => {
  const generation = { name: 'generation', ...failed('generation 3 is being built from Kafka') }
  expect(causes({ checks: [generation] })).toEqual([
    'danger: The check “generation” fails: generation 3 is being built from Kafka.',
  ])
  const engines = ['kafka', 'redis', 'elasticsearch'].map((name) => ({ name, ...failed('does not answer: away') }))
  expect(causes({ checks: [...engines, generation], own: { hasAppendTimes: false } })).toEqual([
    'danger: Kafka does not answer: away.',
    'danger: Redis does not answer: away.',
    'danger: Elasticsearch does not answer: away.',
  ])
})

test('an old survey of the topics is no cause', () => {
  const group = groupOf({ indexers: [] }, nowMs - 20_000)
  expect(causes({ observed: { group } })[0]).toMatch('Not known yet')
})

test('a time of another day has its date', () => {
  expect(causes({ observed: { watermarkMs: Date.parse('2026-11-28T23:59:59.000Z') } })[0]).toMatch('28 Nov 23:59:59')
})
