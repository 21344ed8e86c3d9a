import { setTimeout as sleep } from 'node:timers/promises'
import { aliasOf, documentKinds } from '../../src/core/elasticsearch/indices.ts'
import type { SimulatedEngines } from './engines/engines.ts'
import type { HistoryEvent, Program } from './history.ts'
import type { SimulatedJournal } from './journal.ts'
import type { KeyUsers } from './keyUsers.ts'
import type { Running, System } from './system.ts'
import type { SimulatedProcess } from './world/process.ts'
import type { World } from './world/world.ts'

export const documentTopics = ['forms', 'submissions'] as const

type EventOf<Kind> = HistoryEvent extends infer E
  ? E extends { readonly kind: infer Own }
    ? Kind extends Own
      ? E
      : never
    : never
  : never

/** How long after its start a history waits for a switch, and for the events after it. */
const switchPatienceMs = 40_000
const switchPollMs = 100

/** Applies the outside events of a history to a system. */
export class Happenings {
  readonly #world: World
  readonly #system: System
  readonly #engines: SimulatedEngines
  readonly #journal: SimulatedJournal
  /** Set when the history changes keys. */
  users: KeyUsers | undefined
  #inSwitch: EventOf<'disturb-switch'> | undefined
  /** Events after a switch that have not happened yet. */
  #sinceSwitch: readonly HistoryEvent[] = []
  /** The generation that served when a rebuild took the lock. */
  readonly #servedBefore = new Map<Running, string | undefined>()
  /** Rebuilds that have described the new generation, which is the last step before the switch. */
  readonly #compared = new Set<Running>()

  constructor(system: System, journal: SimulatedJournal) {
    this.#world = system.world
    this.#system = system
    this.#engines = system.engines
    this.#journal = journal
  }

  /** Applies each event at its time; the events after a switch only if a switch comes soon enough. */
  async happen(events: readonly HistoryEvent[]): Promise<void> {
    const beginMs = this.#world.nowMs
    this.#sinceSwitch = events.filter(({ isSinceSwitch }) => isSinceSwitch)
    for (const event of events.filter(({ isSinceSwitch }) => !isSinceSwitch)) {
      const waitMs = beginMs + event.atMs - this.#world.nowMs
      if (waitMs > 0) await sleep(waitMs)
      this.#apply(event)
    }
    const patienceMs = beginMs + switchPatienceMs
    while (this.#sinceSwitch.length > 0 && this.#world.nowMs < patienceMs) await sleep(switchPollMs)
  }

  #apply(event: HistoryEvent): void {
    const { kind, atMs: _atMs, isSinceSwitch: _isSinceSwitch, ...details } = event
    this.#world.note(`EVENT ${kind} ${JSON.stringify(details).slice(0, 160)}`)
    const act = this.#acts[kind] as (event: HistoryEvent) => void
    act(event)
  }

  readonly #acts: { readonly [Kind in HistoryEvent['kind']]: (event: EventOf<Kind>) => void } = {
    append: (event) => this.#append(event),
    kill: (event) => this.#target(event)?.process.kill(),
    stop: (event) => this.#target(event)?.stop(),
    freeze: (event) => this.#target(event)?.process.freeze(event.forMs),
    'disturb-switch': (event) => {
      this.#inSwitch = event
    },
    start: ({ program }) => this.#start(program),
    weather: ({ weather }) => this.#world.setWeather(weather),
    outage: ({ engine, forMs }) => this.#world.cutOff(engine, undefined, forMs),
    'cut-off': ({ engine, which, forMs }) => this.#world.cutOff(engine, this.#anyProcess(which), forMs),
    'slow-calls': ({ engine, which, forMs }) => this.#world.slowDown(engine, this.#anyProcess(which), forMs),
    'refuse-calls': ({ engine, which, share, forMs }) =>
      this.#world.refuseCalls(engine, this.#anyProcess(which), share, forMs),
    rebalance: () => this.#engines.simulatedKafka.group(this.#system.config.CONSUMER_GROUP).rebalance(),
    'sessions-end': () => this.#engines.simulatedKafka.group(this.#system.config.CONSUMER_GROUP).endSessions(),
    compact: () => {
      for (const topic of documentTopics)
        this.#engines.simulatedKafka.compactCommitted(topic, this.#system.config.CONSUMER_GROUP)
    },
    'forget-deletions': () => this.#forgetDeletions(),
    'open-transaction': ({ topic, forMs }) =>
      this.#forAWhile(forMs, `the transaction in ${topic} ends`, (isOpen) =>
        this.#engines.simulatedKafka.topics.setTransaction(topic, isOpen),
      ),
    'leader-clock': ({ topic, partition, offsetMs }) =>
      this.#engines.simulatedKafka.setLeaderClockOffset(topic, partition, offsetMs),
    'process-clock': ({ which, offsetMs }) => {
      const process = this.#anyProcess(which)
      if (process !== undefined) process.clockOffsetMs = offsetMs
    },
    'engine-clock': ({ engine, offsetMs }) => {
      this.#engines.clockOffsetsMs[engine] = offsetMs
    },
    'redis-restart': (event) => this.#engines.simulatedRedis.restart(event),
    // To clients, a promoted replica that lacks the last writes looks like a restart.
    'redis-failover': () => this.#engines.simulatedRedis.failOver(),
    'redis-flush': () => this.#engines.simulatedRedis.flush(),
    'redis-full': ({ forMs }) =>
      this.#forAWhile(forMs, 'Redis has memory again', (isFull) => {
        this.#engines.simulatedRedis.isFull = isFull
      }),
    'node-away': ({ node, noticedAfterMs, forMs }) => {
      const { simulatedElasticsearch } = this.#engines
      simulatedElasticsearch.loseNode(node)
      this.#world.schedule(noticedAfterMs, 'the master notices lost nodes', undefined, () =>
        simulatedElasticsearch.noticeLostNodes(),
      )
      this.#world.schedule(forMs, `node ${node} is back`, undefined, () => this.returnNode(node))
    },
    'refuse-writes': ({ forMs }) =>
      this.#forAWhile(forMs, 'writes are accepted', (refuses) => {
        this.#engines.simulatedElasticsearch.refusesWrites = refuses
      }),
    'delete-indices': () => this.#engines.simulatedElasticsearch.deleteIndices(`${this.#system.config.INDEX_PREFIX}-*`),
    'remove-aliases': () => {
      for (const kind of documentKinds)
        this.#engines.simulatedElasticsearch.deleteAlias(aliasOf(this.#system.config.INDEX_PREFIX, kind))
    },
    'create-key': ({ team, name }) => this.users?.create(team, name),
    'revoke-key': ({ team, which }) => this.users?.end(team, which, 'revoke'),
    'delete-key': ({ team, which }) => this.users?.end(team, which, 'delete'),
  }

  #forAWhile(forMs: number, end: string, set: (isOn: boolean) => void): void {
    set(true)
    this.#world.schedule(forMs, end, undefined, () => set(false))
  }

  /** Freezes a rebuild, or makes it slow, at the step of its switch that an event has chosen. */
  disturbSwitch(what: string, caller: SimulatedProcess): void {
    const event = this.#inSwitch
    const rebuild = this.#system.running('rebuild').find(({ process }) => process === caller)
    if (event === undefined || rebuild === undefined) return
    const serving = this.#engines.simulatedRedis.text(`${this.#system.config.INDEX_PREFIX}:serving`)
    if (rebuild.isSwitching && !this.#servedBefore.has(rebuild)) this.#servedBefore.set(rebuild, serving)
    if (rebuild.isSwitching && what.includes('_mapping')) this.#compared.add(rebuild)
    const hasCome = {
      locked: rebuild.isSwitching,
      compared: this.#compared.has(rebuild),
      switched: this.#compared.has(rebuild) && serving !== this.#servedBefore.get(rebuild),
    }
    if (!hasCome[event.step]) return
    this.#inSwitch = undefined
    rebuild.process.freeze(event.frozenMs)
    this.#world.slowDown(event.engine, rebuild.process, event.frozenMs + event.slowMs)
    for (const later of this.#sinceSwitch)
      this.#world.schedule(later.atMs, `event ${later.kind}`, undefined, () => {
        this.#sinceSwitch = this.#sinceSwitch.filter((pending) => pending !== later)
        this.#apply(later)
      })
  }

  #target({ program, which }: { readonly program: Program; readonly which: number }): Running | undefined {
    const running = this.#system.running(program)
    return running[which % running.length]
  }

  #start(program: Program): void {
    switch (program) {
      case 'indexer':
        this.#system.startIndexer()
        break
      case 'api':
        this.#system.startApi()
        break
      case 'rebuild':
        this.#system.startRebuild((error) => {
          const outcome = error === undefined ? 'succeeded' : `failed: ${(error as Error).message}`
          this.#world.note(`rebuild ${outcome}`)
        })
        break
      case 'member':
        this.#system.startRebuildMember()
    }
  }

  #anyProcess(which: number): SimulatedProcess | undefined {
    const all = (['indexer', 'api'] as const).flatMap((program) => this.#system.running(program))
    return all[which % all.length]?.process
  }

  returnNode(node: number): void {
    this.#engines.simulatedElasticsearch.returnNode(node).catch((error: unknown) => this.#world.fail(error))
  }

  #forgetDeletions(): void {
    const { simulatedKafka } = this.#engines
    const committed = simulatedKafka.committed(this.#system.config.CONSUMER_GROUP)
    for (const topic of documentTopics) {
      simulatedKafka.forgetDeletions(topic)
      const present = new Set(simulatedKafka.log(topic).map(partitionAndOffset))
      const read = new Map(
        committed.filter((commit) => commit.topic === topic).map(({ partition, offset }) => [partition, offset]),
      )
      for (const record of this.#journal.entries)
        if (record.topic === topic && record.value === null && record.offset >= (read.get(record.partition) ?? 0n))
          if (!present.has(partitionAndOffset(record))) this.#journal.forget(record)
    }
  }

  #append({ topic, key, value }: EventOf<'append'>): void {
    const { partition, offset, appendedAtMs } = this.#engines.simulatedKafka.append(topic, key, value)
    this.#journal.add({ topic, key, value, partition, offset, atMs: appendedAtMs })
  }
}

const partitionAndOffset = (record: { readonly partition: number; readonly offset: bigint }): string =>
  `${record.partition}/${record.offset}`
