import { formEntity, submissionEntity } from '../support/entities.ts'
import type { Random } from '../support/random.ts'
import type { EngineName } from './network.ts'
import { randomFor } from './world/randomness.ts'
import type { Weather } from './world/world.ts'

/** Programs that may run as several processes. */
export type Program = 'indexer' | 'api' | 'rebuild' | 'member'

/** Affects calls between one process and an engine for `forMs`. */
type OneProcess = { readonly engine: EngineName; readonly which: number; readonly forMs: number }

/** An outside event; `atMs`: milliseconds after the start, or after the moment at which a switch is disturbed. */
export type HistoryEvent = { readonly atMs: number; readonly isSinceSwitch?: true } & (
  | { readonly kind: 'append'; readonly topic: DocumentTopic; readonly key: string; readonly value: string | null }
  /** `which`: index among the processes of the program that run at that time. */
  | { readonly kind: 'kill'; readonly program: Program; readonly which: number }
  | { readonly kind: 'stop'; readonly program: Program; readonly which: number }
  | { readonly kind: 'freeze'; readonly program: Program; readonly which: number; readonly forMs: number }
  | { readonly kind: 'start'; readonly program: Program }
  /** The next rebuild to reach this step of its switch freezes; its calls to an engine are slow after that. */
  | {
      readonly kind: 'disturb-switch'
      readonly step: SwitchStep
      readonly frozenMs: number
      readonly engine: EngineName
      readonly slowMs: number
    }
  | { readonly kind: 'weather'; readonly weather: Weather }
  | { readonly kind: 'outage'; readonly engine: EngineName; readonly forMs: number }
  | ({ readonly kind: 'cut-off' } & OneProcess)
  /** Requests of one process to an engine, and their responses, take up to 1.5 s each. */
  | ({ readonly kind: 'slow-calls' } & OneProcess)
  /** An engine refuses this share (0 to 1) of the calls of one process. */
  | ({ readonly kind: 'refuse-calls'; readonly share: number } & OneProcess)
  /** `sessions-end`: the coordinator expires all members of the group, as after a pause longer than their sessions. */
  | { readonly kind: 'rebalance' | 'sessions-end' | 'compact' }
  /** Compaction removes even deletions that no indexer has read. */
  | { readonly kind: 'forget-deletions' }
  | {
      readonly kind: 'leader-clock'
      readonly topic: DocumentTopic
      /** Undefined for all partitions. */
      readonly partition: number | undefined
      readonly offsetMs: number
    }
  | { readonly kind: 'process-clock'; readonly which: number; readonly offsetMs: number }
  | { readonly kind: 'engine-clock'; readonly engine: EngineName; readonly offsetMs: number }
  | { readonly kind: 'redis-restart'; readonly losesLastMs: number }
  | { readonly kind: 'redis-failover' }
  | { readonly kind: 'redis-flush' }
  /** Redis is out of memory: it serves reads and refuses writes. */
  | { readonly kind: 'redis-full'; readonly forMs: number }
  | { readonly kind: 'node-away'; readonly node: number; readonly noticedAfterMs: number; readonly forMs: number }
  | { readonly kind: 'refuse-writes'; readonly forMs: number }
  /** A transaction is open in every partition of a topic, which hides the records after its start. */
  | { readonly kind: 'open-transaction'; readonly topic: DocumentTopic | 'account-keys'; readonly forMs: number }
  | { readonly kind: 'delete-indices' | 'remove-aliases' }
  | { readonly kind: 'create-key'; readonly team: string; readonly name: string }
  | { readonly kind: 'revoke-key' | 'delete-key'; readonly team: string; readonly which: number }
)

/** Steps of a switch: it has taken the lock; it has compared the generations; it has switched, and is about to move the aliases. */
type SwitchStep = 'locked' | 'compared' | 'switched'
export type DocumentTopic = 'forms' | 'submissions'

/** The outside events of one simulation, in order of time. */
export type History = {
  readonly seed: number
  readonly events: readonly HistoryEvent[]
  readonly themes: readonly Theme[]
  /** The list of each team that a client follows. */
  readonly followed: Readonly<Record<Team, DocumentTopic>>
}

export const teams = ['acme', 'acme2'] as const
export type Team = (typeof teams)[number]
const statuses = ['pending', 'processing', 'completed', 'failed']
/** All themes; most histories have one to three of the common ones. */
const themes = [
  ...['network', 'crashes', 'freezes', 'groups', 'clocks', 'redis', 'copies', 'rebuild', 'switch', 'late', 'contract'],
  ...[
    'generations',
    'keys',
    'delays',
    'refusals',
    'transactions',
    'failing-document',
    'forgotten-deletions',
    'members',
  ],
] as const
export type Theme = (typeof themes)[number]
/** Drawn rarely, because they simulate slowly. They affect lists of forms. */
const rare: readonly Theme[] = ['switch', 'late']
/** Slow, too. Drawn separately, so that the histories of other seeds stay the same. */
const separate: readonly Theme[] = ['transactions', 'failing-document', 'forgotten-deletions', 'members']
const common = themes.filter((theme) => ![...rare, ...separate].includes(theme))
const rareShare = 0.02

/** The deletion retention of topics in histories of the theme `forgotten-deletions`. */
export const deletionsKeptMs = 8_000
const lengthMs = 3_000
const appends = { min: 20, spread: 40 }

/** The history of a seed. `only`: the themes to draw from; by default one to three of all, sometimes with a rare one. */
export function historyOf(seed: number, only?: readonly Theme[]): History {
  const random = randomFor(seed, 'history')
  const apart = randomFor(seed, 'separate themes')
  const chosen = only ?? [
    ...random.shuffled(common).slice(0, 1 + random.below(3)),
    ...rare.filter(() => random.chance(rareShare)),
    ...possibleTogether(separate.filter(() => apart.chance(rareShare))),
  ]
  const events = [...writes(random), ...chosen.flatMap((theme) => eventsOf[theme](random))]
  // Compaction may keep only the older state of late records, and nothing of a deletion: then deleted indices cannot be rebuilt as they
  // were, and followers miss deletions (docs/http-api.md).
  const areIndicesDeleted = events.some(({ kind }) => kind === 'delete-indices')
  const possible = events.filter(({ kind }) => !(areIndicesDeleted && ['compact', 'forget-deletions'].includes(kind)))
  const topic = (): DocumentTopic =>
    chosen.some((theme) => rare.includes(theme)) || random.chance(0.5) ? 'forms' : 'submissions'
  const followed = { acme: topic(), acme2: topic() }
  return { seed, themes: chosen, events: possible.sort((a, b) => a.atMs - b.atMs), followed }
}

/** Excludes two themes together: a failing document blocks its partition for longer than `forgotten-deletions` keeps deletions, so no rebuild helps. */
const possibleTogether = (drawn: readonly Theme[]): readonly Theme[] =>
  drawn.includes('forgotten-deletions') ? drawn.filter((theme) => theme !== 'failing-document') : drawn

/** A random time of a history (ms after its start). */
const moment = (random: Random): number => 200 + random.below(lengthMs)

const times = (count: number, makeEvent: () => HistoryEvent): HistoryEvent[] => Array.from({ length: count }, makeEvent)

type WithoutTime<E> = E extends unknown ? Omit<E, 'atMs' | 'isSinceSwitch'> : never
const at = (atMs: number, event: WithoutTime<HistoryEvent>): HistoryEvent => ({ atMs, ...event })

const eitherTopic = (random: Random): DocumentTopic => (random.chance(0.5) ? 'forms' : 'submissions')

/**
 * Appends of a few entities: new, late and repeated states, some with other content under the same revision, deletions, and records that
 * break the contract.
 */
function writes(random: Random): HistoryEvent[] {
  const revisions = new Map<string, number>()
  const count = appends.min + random.below(appends.spread)
  // Bursts and pauses, as real producers write.
  const moments = Array.from({ length: count }, () => (random.chance(0.5) ? 1_000 + random.below(400) : moment(random)))
  return moments
    .sort((a, b) => a - b)
    .flatMap((at): HistoryEvent[] => {
      const topic = random.chance(0.3) ? 'forms' : 'submissions'
      const id = topic === 'forms' ? `f${random.below(3)}` : `s${random.below(6)}`
      const key = `${random.pick(teams)}/${id}`
      const revision = (revisions.get(`${topic} ${key}`) ?? 0) + 1 + random.below(2)
      revisions.set(`${topic} ${key}`, revision)
      // Some come late, perhaps after a newer revision.
      const atMs = random.chance(0.15) ? at + random.below(3_000) : at
      const append = { atMs, kind: 'append', topic, key, value: nextValue(topic, id, revision, random) } as const
      if (random.chance(0.08)) return [append, { ...append, value: stateOf(topic, id, revision, random) }]
      return random.chance(0.1) ? [append, append] : [append]
    })
}

/** Usually a state, sometimes a deletion, or a value that breaks the contract. */
function nextValue(topic: DocumentTopic, id: string, revision: number, random: Random): string | null {
  if (random.chance(0.04)) return `{"revision":${revision}}`
  return random.chance(0.05) ? null : stateOf(topic, id, revision, random)
}

export function stateOf(topic: DocumentTopic, id: string, revision: number, random: Random): string {
  // The served summary contains the revision, for `revisionIn`.
  const updatedAt = `2026-0${1 + random.below(2)}-1${random.below(10)}T10:00:00.000Z`
  const entity =
    topic === 'forms'
      ? { form: formEntity({ id, title: `revision ${revision}`, createdAt: createdAtOf(id), updatedAt }) }
      : { submission: submissionEntity({ id, serialNumber: revision, updatedAt, result: statusOf(random) }) }
  return JSON.stringify({ revision, ...entity })
}

const createdAtOf = (id: string): string => `2026-01-0${1 + Number(id.slice(1))}T10:00:00.000Z`
const statusOf = (random: Random) => ({ status: random.pick(statuses) })

/** In histories of the theme `failing-document`, Elasticsearch rejects both documents of this submission. */
export const failingKey = `${teams[0]}/s8`

/** Changes with pauses between them, so that no later write hides a missing one. */
const singleChanges = (topic: DocumentTopic, id: string, random: Random, fromMs = lengthMs, forMs = 4_000) =>
  times(8, (): HistoryEvent => {
    const atMs = fromMs + random.below(forMs)
    return { atMs, kind: 'append', topic, key: `${teams[0]}/${id}`, value: stateOf(topic, id, atMs, random) }
  })

const refusedCalls = (random: Random) =>
  ({
    atMs: moment(random) + (random.chance(0.5) ? lengthMs : 0),
    kind: 'refuse-calls',
    engine: random.chance(0.5) ? 'redis' : random.pick(engines),
    which: random.below(random.chance(0.7) ? 2 : 4),
    share: 0.05 + random.next() ** 2 * 0.7,
    forMs: 1_000 + random.below(5_000),
  }) satisfies HistoryEvent

/** A change at whose append the leader's clock is further behind than at the previous change. */
const appendedLater = (change: HistoryEvent): HistoryEvent[] => [
  { atMs: change.atMs, kind: 'leader-clock', topic: 'forms', partition: undefined, offsetMs: lengthMs - change.atMs },
  change,
]

/** Stops both indexers at `atMs`, around a switch, so that only the rebuild reads later records, and starts one within six seconds. */
const onlyTheRebuildReads = (random: Random, atMs: number): HistoryEvent[] => [
  ...[0, 1].map((which) => at(atMs, { kind: 'stop', program: 'indexer', which })),
  at(atMs + random.below(6_000), { kind: 'start', program: 'indexer' }),
]

const engines: readonly EngineName[] = ['elasticsearch', 'kafka', 'redis']

const eventsOf: Readonly<Record<Theme, (random: Random) => HistoryEvent[]>> = {
  network: (random) => [
    { atMs: 0, kind: 'weather', weather: { lost: random.next() * 0.06, late: random.next() * 0.04 } },
    ...times(random.below(3), () =>
      at(moment(random), { kind: 'outage', engine: random.pick(engines), forMs: random.below(5_000) }),
    ),
    ...times(random.below(3), () => {
      const atMs = moment(random)
      const engine = random.pick(engines)
      return { atMs, kind: 'cut-off', engine, which: random.below(2), forMs: random.below(5_000) }
    }),
  ],
  crashes: (random) =>
    Array.from({ length: 1 + random.below(3) }, () => {
      const atMs = moment(random)
      const program = random.chance(0.8) ? 'indexer' : 'api'
      const kind = random.chance(0.7) ? 'kill' : 'stop'
      return [
        at(atMs, { kind, program, which: random.below(2) }),
        at(atMs + random.below(3_000), { kind: 'start', program }),
      ]
    }).flat(),
  freezes: (random) =>
    times(1 + random.below(3), () => ({
      atMs: moment(random),
      kind: 'freeze',
      program: random.chance(0.8) ? 'indexer' : 'api',
      which: random.below(2),
      forMs: random.chance(0.3) ? 10_000 + random.below(8_000) : random.below(4_000),
    })),
  groups: (random) => [
    ...times(1 + random.below(3), () =>
      at(moment(random), { kind: random.chance(0.7) ? 'rebalance' : 'sessions-end' }),
    ),
    ...times(random.below(3), () => ({ ...refusedCalls(random), engine: 'kafka', share: 0.1 + random.next() * 0.3 })),
    ...times(random.below(2), () => at(moment(random), { kind: 'compact' })),
    ...times(random.below(2), () => at(moment(random), { kind: 'start', program: 'indexer' })),
  ],
  clocks: (random) => {
    const offsetMs = (): number => random.below(12_000) - 6_000
    const atMs = (): number => (random.chance(0.5) ? 0 : moment(random))
    return [
      ...times(random.below(3), () =>
        at(atMs(), { kind: 'process-clock', which: random.below(3), offsetMs: offsetMs() }),
      ),
      ...times(random.below(4), () => {
        const [when, topic] = [moment(random), eitherTopic(random)]
        return at(when, { kind: 'leader-clock', topic, partition: random.below(4), offsetMs: offsetMs() })
      }),
      ...times(random.below(2), () =>
        at(atMs(), { kind: 'engine-clock', engine: random.chance(0.5) ? 'redis' : 'kafka', offsetMs: offsetMs() }),
      ),
    ]
  },
  redis: (random) =>
    times(1 + random.below(2), () => {
      const atMs = moment(random)
      return random.pick<HistoryEvent>([
        { atMs, kind: 'redis-restart', losesLastMs: random.below(1_000) },
        { atMs, kind: 'redis-failover' },
        { atMs, kind: 'redis-flush' },
        { atMs, kind: 'redis-full', forMs: random.below(3_000) },
      ])
    }),
  copies: (random) => [
    ...times(1 + random.below(2), () => {
      const [atMs, node] = [moment(random), random.below(2)]
      return { atMs, kind: 'node-away', node, noticedAfterMs: random.below(2_000), forMs: random.below(5_000) }
    }),
    ...times(random.below(2), () => at(moment(random), { kind: 'refuse-writes', forMs: random.below(4_000) })),
  ],
  rebuild: (random) => {
    const atMs = 500 + random.below(6_000)
    const fate = random.below(4)
    const events = [at(atMs, { kind: 'start', program: 'rebuild' })]
    const inIt = { program: 'rebuild', which: 0 } as const
    if (fate === 0) events.push(at(atMs + random.below(4_000), { kind: 'kill', ...inIt }))
    if (fate === 1)
      events.push(at(atMs + random.below(4_000), { kind: 'freeze', ...inIt, forMs: random.below(16_000) }))
    if (random.chance(0.3)) events.push(at(atMs + random.below(5_000), { kind: 'start', program: 'rebuild' }))
    events.push(...singleChanges('forms', 'f6', random, atMs + 1_000, 2_000))
    if (random.chance(0.3)) events.push(...onlyTheRebuildReads(random, atMs + random.below(2_000)))
    return events
  },
  // Members help a rebuild. They come early or late, freeze or die, or are started again; so may the rebuild.
  members: (random) => {
    const startMs = 500 + random.below(4_000)
    const some = (): number => startMs + random.below(6_000)
    const target = { program: random.chance(0.75) ? 'member' : 'rebuild', which: random.below(2) } as const
    return [
      at(startMs, { kind: 'start', program: 'rebuild' }),
      ...times(1 + random.below(3), () =>
        at(startMs - 400 + random.below(3_000), { kind: 'start', program: 'member' }),
      ),
      ...(random.chance(0.4) ? [at(some(), { kind: 'kill', ...target })] : []),
      ...(random.chance(0.4) ? [at(some(), { kind: 'freeze', ...target, forMs: random.below(16_000) })] : []),
      ...(random.chance(0.3) ? [at(some(), { kind: 'stop', ...target })] : []),
      ...(random.chance(0.3) ? [at(some() + 3_000, { kind: 'start', program: 'rebuild' })] : []),
      ...(random.chance(0.3) ? [at(some(), { kind: 'start', program: 'member' })] : []),
      ...singleChanges('forms', 'f6', random, startMs + 200, 4_000),
      ...(random.chance(0.3) ? onlyTheRebuildReads(random, some()) : []),
    ]
  },
  // A rebuild freezes in its switch for longer than its lock lives, is slow in it, or dies, while producers write on, some with late clocks.
  switch: (random) => {
    const frozenMs = random.chance(0.5) ? 10_200 + random.below(4_000) : 0
    const slowMs = frozenMs === 0 || random.chance(0.7) ? 2_000 + random.below(10_000) : 0
    const step = random.chance(0.6) ? 'locked' : random.pick(['compared', 'switched'] as const)
    const engine = random.pick(['elasticsearch', 'redis'] as const)
    const meanwhile = [
      ...times(40, () => {
        const id = `f${3 + random.below(6)}`
        const atMs = frozenMs + random.below(slowMs + 4_000)
        const value = stateOf('forms', id, 1 + atMs, random)
        return at(atMs, { kind: 'append', topic: 'forms', key: `${random.pick(teams)}/${id}`, value })
      }),
      ...(random.chance(0.6) ? onlyTheRebuildReads(random, frozenMs + random.below(2_000 + slowMs)) : []),
      ...(random.chance(0.2) ? [at(0, { kind: 'kill', program: 'rebuild', which: 0 })] : []),
    ]
    const startMs = 500 + random.below(1_500)
    return [
      at(startMs, { kind: 'start', program: 'rebuild' }),
      at(0, { kind: 'disturb-switch', step, frozenMs, engine, slowMs }),
      ...meanwhile.map((event) => ({ ...event, isSinceSwitch: true as const })),
      // The old generation lacks what the new one shows.
      ...(random.chance(0.3)
        ? [...onlyTheRebuildReads(random, startMs + 100), ...singleChanges('forms', 'f2', random, startMs + 200, 1_000)]
        : []),
    ]
  },
  // The clocks of all partition leaders of a topic are behind.
  late: (random) =>
    [0, 1, 2, 3].map((partition) =>
      at(random.below(10_000), {
        ...{ kind: 'leader-clock', topic: 'forms', partition },
        offsetMs: -2_000 - random.below(5_000),
      }),
    ),
  // A producer sometimes breaks the contract.
  contract: (random) =>
    times(10 + random.below(20), () => {
      const topic = eitherTopic(random)
      const key = `${random.pick(teams)}/${topic === 'forms' ? 'f9' : 's9'}`
      return { atMs: moment(random), kind: 'append', topic, key, value: `{"revision":${1 + random.below(99)}}` }
    }),
  // Single changes, with time for readers to catch up in between, and slow calls to one engine.
  delays: (random) => [
    ...times(3, () => {
      const atMs = moment(random)
      const engine = random.chance(0.5) ? 'redis' : random.pick(engines)
      return { atMs, kind: 'slow-calls', engine, which: random.below(4), forMs: 2_000 + random.below(5_000) }
    }),
    ...singleChanges('submissions', 's7', random),
  ],
  // Single calls fail, so that any step of a sequence may fail alone; in half of these histories, `changedAt` rises with every change.
  refusals: (random) => [
    ...times(4, () => refusedCalls(random)),
    ...(random.chance(0.5) ? singleChanges('forms', 'f7', random).flatMap(appendedLater) : []),
  ],
  // A transaction is open in `account-keys` while Redis has lost the keys, and another in a document topic.
  transactions: (random) => {
    const atMs = moment(random)
    const kind = 'open-transaction'
    return [
      at(atMs, { kind, topic: 'account-keys', forMs: 4_000 + random.below(6_000) }),
      at(atMs + random.below(3_000), { kind: 'redis-flush' }),
      at(moment(random), { kind, topic: eitherTopic(random), forMs: random.below(6_000) }),
    ]
  },
  'failing-document': (random) =>
    times(1 + random.below(3), () => {
      const atMs = moment(random)
      const value = stateOf('submissions', 's8', 1 + random.below(9), random)
      return { atMs, kind: 'append', topic: 'submissions', key: failingKey, value }
    }),
  // Indexers are down for longer than Kafka keeps deletions.
  'forgotten-deletions': (random) => {
    const offAtMs = lengthMs + random.below(1_000)
    const onAtMs = offAtMs + deletionsKeptMs + 1_000 + random.below(3_000)
    return [
      ...[0, 1, 2].map((which) => at(offAtMs, { kind: 'stop', program: 'indexer', which })),
      ...['s1', 's2', 's3'].map((id) => {
        const atMs = offAtMs + 500 + random.below(500)
        return at(atMs, { kind: 'append', topic: 'submissions', key: `${random.pick(teams)}/${id}`, value: null })
      }),
      { atMs: onAtMs, kind: 'forget-deletions' },
      ...times(2, () => at(onAtMs + random.below(1_000), { kind: 'start', program: 'indexer' })),
    ]
  },
  generations: (random) => [{ atMs: moment(random), kind: random.chance(0.5) ? 'delete-indices' : 'remove-aliases' }],
  keys: (random) => [
    ...times(4 + random.below(18), () => {
      const atMs = moment(random)
      // Mostly one team, so that it reaches its limit of keys.
      const team = random.chance(0.8) ? teams[0] : teams[1]
      return { atMs, kind: 'create-key', team, name: `key ${random.below(100)}` }
    }),
    ...times(1 + random.below(5), () => {
      const atMs = moment(random)
      const kind = random.chance(0.6) ? 'revoke-key' : 'delete-key'
      return { atMs, kind, team: random.pick(teams), which: random.below(8) }
    }),
  ],
}
