import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { accountKeyRecord } from '../support/entities.ts'
import { Checks } from './checks.ts'
import { type SimulatedEngines, simulateEngines } from './engines/engines.ts'
import { documentTopics, Happenings } from './happenings.ts'
import {
  deletionsKeptMs,
  failingKey,
  type History,
  type HistoryEvent,
  type Team,
  type Theme,
  teams,
} from './history.ts'
import { SimulatedJournal } from './journal.ts'
import { KeyUsers } from './keyUsers.ts'
import { askApi, SimulatedFollower, SimulatedPoller, simulateFetch } from './simulatedClients.ts'
import { System } from './system.ts'
import { SimulatedProcess } from './world/process.ts'
import { Violation, World } from './world/world.ts'

const apiCount = 2
const indexerCount = 2
const startDeadlineMs = 60_000
const endDeadlineMs = 180_000
const pollMs = 200
/** In one of this many histories with a rebuild, the run waits until the rebuild has removed the retired generation. */
const removalEvery = 8
const nodes = [0, 1]
const reportPollMs = 5_000
/** Team → number of pollers. */
const pollersOf: Readonly<Record<Team, number>> = { acme: 2, acme2: 1 }

/** The result of a simulation. */
export type Outcome = {
  readonly history: History
  /** The broken invariant; undefined if none was broken. */
  readonly violation: { readonly invariant: string; readonly text: string } | undefined
  readonly trace: readonly string[]
  /** Whether an operator had to rebuild although no log was replaced: a known gap of `indexer/logStatesOfDocuments.ts`. */
  readonly neededRebuild: boolean
}

/** Runs a history from the start of the processes until everything is visible, and checks every invariant throughout. */
export async function runHistory(history: History): Promise<Outcome> {
  const world = new World(history.seed)
  const run = new Run(world, history)
  let violation: Outcome['violation']
  const onRejection = (error: unknown): void =>
    world.fail(new Violation('no rejection is unhandled', String((error as Error)?.stack ?? error)))
  process.on('unhandledRejection', onRejection)
  try {
    await world.run(run.play())
  } catch (error) {
    violation = {
      invariant: error instanceof Violation ? error.invariant : 'the simulation itself works',
      text: error instanceof Violation ? error.message : String((error as Error).stack ?? error),
    }
    world.note(`VIOLATION ${violation.text}`)
  } finally {
    run.end()
    process.off('unhandledRejection', onRejection)
  }
  return { history, violation, trace: world.trace, neededRebuild: run.neededRebuild }
}

const isNodeAway = ({ kind }: HistoryEvent): boolean => kind === 'node-away'

const setsBackBroker = (event: HistoryEvent): boolean =>
  event.kind === 'engine-clock' && event.engine === 'kafka' && event.offsetMs < 0

/** Half of the histories that lose nodes run without cached answers, so that every answer comes from a remaining node. */
const keepsAnswers = ({ seed, events }: History): boolean => seed % 2 === 0 || !events.some(isNodeAway)

/** Whether Redis may lose publications, or Elasticsearch the indices that they name. */
const mayLosePublished = ({ kind }: HistoryEvent): boolean =>
  ['redis-restart', 'redis-failover', 'redis-flush', 'delete-indices', 'remove-aliases'].includes(kind)

class Run {
  readonly #world: World
  readonly #history: History
  readonly #engines: SimulatedEngines
  readonly #system: System
  readonly #journal = new SimulatedJournal()
  readonly #checks: Checks
  readonly #happenings: Happenings
  readonly #outside: SimulatedProcess
  readonly #clocksAgree: boolean
  #isHealed = false
  neededRebuild = false

  constructor(world: World, history: History) {
    this.#world = world
    this.#history = history
    this.#engines = simulateEngines(world)
    this.#system = new System(world, this.#engines, { keepsAnswers: keepsAnswers(history) })
    this.#clocksAgree = !history.events.some(({ kind }) => kind.endsWith('-clock'))
    const aheadMs = history.events.map((event) =>
      event.kind === 'engine-clock' && event.engine === 'redis' ? event.offsetMs : 0,
    )
    const clocks = { clocksAgree: this.#clocksAgree, redisAheadMs: Math.max(0, ...aheadMs) }
    this.#checks = new Checks(this.#system, this.#journal, clocks)
    this.#happenings = new Happenings(this.#system, this.#journal)
    this.#outside = new SimulatedProcess(world, 'outside')
    world.afterCall = (engine, what, caller) => {
      this.#checks.afterCall(engine, what)
      this.#happenings.disturbSwitch(what, caller)
    }
  }

  play(): Promise<void> {
    return this.#outside.run(() => this.#play())
  }

  end(): void {
    for (const program of ['indexer', 'api', 'rebuild', 'member', 'settings'] as const)
      for (const running of this.#system.running(program)) running.process.kill()
  }

  async #play(): Promise<void> {
    const system = this.#system
    simulateFetch(system)
    if (this.#isAbout('failing-document')) this.#engines.simulatedElasticsearch.failsAt = failingKey
    if (this.#isAbout('forgotten-deletions')) this.#createForgetfulTopics()
    for (let started = 0; started < indexerCount; started++) system.startIndexer()
    for (let started = 0; started < apiCount; started++) system.startApi()
    await this.#until('topics exist', startDeadlineMs, () =>
      this.#engines.simulatedKafka.topics.has(system.config.TOPIC_KEY_AUDIT),
    )
    for (const team of teams) this.#appendKey(team)
    for (const team of teams) await this.#untilAnswered(team)
    const holdsAnswers = keepsAnswers(this.#history)
    const keepsPublished = !this.#history.events.some(mayLosePublished)
    const deps = {
      ...{ system, journal: this.#journal, keyOf, clocksAgree: this.#clocksAgree },
      ...{ cursorKeys: this.#checks.cursorKeys, keepsPublished, holdsAnswers },
      isHealed: () => this.#isHealed,
    }
    const pollers = Object.entries(pollersOf).flatMap(([team, count]) =>
      Array.from({ length: count }, (_, at) => new SimulatedPoller(deps, team, `poller ${at + 1} of ${team}`)),
    )
    const changesKeys = this.#history.events.some(({ kind }) => kind.endsWith('-key'))
    const users = changesKeys ? await this.#startKeyUsers() : undefined
    const followers = teams.map((team) => new SimulatedFollower(deps, team, this.#history.followed[team]))
    await this.#happenings.happen(this.#history.events)
    this.#heal()
    await users?.changesDone()
    /** Set once every record is visible: how many records, and how many answers each follower had. After two more answers its copy must be complete. */
    let visible: { readonly records: number; readonly answers: readonly number[] } | undefined
    const isBehind = ({ watermarkMs }: { readonly watermarkMs: number }): boolean =>
      watermarkMs <= this.#journal.lastAppendMs()
    // A retired generation is kept for half a minute, so waiting for its removal makes a history long.
    const waitsForRemoval = this.#history.seed % removalEvery === 0
    const unfinished = (): string[] => [
      ...(this.#checks.isComplete() ? [] : ['documents']),
      ...system
        .running('rebuild')
        .flatMap((rebuild) => (rebuild.hasSwitched && !waitsForRemoval ? [] : rebuild.process.name)),
      ...[...pollers, ...followers].filter(isBehind).map(({ name }) => name),
      // With clocks that disagree, a watermark may be above a record that its follower has not read yet.
      ...followers.filter(({ isAtEnd }) => !isAtEnd).map(({ name }) => `cursor of the ${name}`),
      ...followers.filter(({ answers }, at) => answers < (visible?.answers[at] ?? answers) + 2).map(({ name }) => name),
    ]
    const isOver = (): boolean => {
      const records = this.#journal.entries.length
      // Events of a switch may append more records: then the two answers of each follower are counted anew.
      if (visible?.records !== records) visible = undefined
      if (this.#checks.isComplete()) visible ??= { records, answers: followers.map(({ answers }) => answers) }
      return unfinished().length === 0
    }
    await this.#until('everything becomes visible', endDeadlineMs, isOver).catch((error: unknown) => {
      this.#world.note(`unfinished: ${unfinished().join(', ')}`)
      this.#checks.expectFold()
      throw error
    })
    this.#checks.expectFold()
    for (const follower of followers) follower.expectTruth()
    if (users !== undefined) await this.#expectKeys(users)
  }

  #isAbout(theme: Theme): boolean {
    return this.#history.themes.includes(theme)
  }

  #createForgetfulTopics(): void {
    for (const topic of documentTopics)
      this.#engines.simulatedKafka.topics.create({
        ...{ topic, partitions: 4 },
        settings: {
          'cleanup.policy': 'compact',
          'message.timestamp.type': 'LogAppendTime',
          'delete.retention.ms': deletionsKeptMs,
        },
      })
  }

  async #startKeyUsers(): Promise<KeyUsers> {
    const users = new KeyUsers(this.#system)
    await this.#until('the settings area starts', startDeadlineMs, () => users.haveSettings)
    users.start()
    this.#happenings.users = users
    return users
  }

  /** Waits until an indexer has applied the record of the team's key. */
  async #untilAnswered(team: string): Promise<void> {
    let status = 0
    const probe = async (): Promise<void> => {
      while (status !== 200) {
        const answer = await askApi(this.#system, this.#outside, '/api/v1/forms?limit=1', {
          authorization: `Bearer ${keyOf(team)}`,
        })
        status = answer.status
        await sleep(pollMs)
      }
    }
    const probing = probe().catch((error: unknown) => this.#world.fail(error))
    await this.#until('the API answers', startDeadlineMs, () => status === 200)
    await probing
  }

  /** Waits until the settings area has Redis with all account keys replayed, then checks the keys. */
  async #expectKeys(users: KeyUsers): Promise<void> {
    for (let waitedMs = 0; ; waitedMs += pollMs)
      try {
        return await users.expectTruth()
      } catch (error) {
        if (error instanceof Violation || waitedMs > startDeadlineMs) throw error
        await sleep(pollMs)
      }
  }

  async #until(what: string, deadlineMs: number, isTrue: () => boolean): Promise<void> {
    for (let waitedMs = 0; !isTrue(); waitedMs += pollMs) {
      if (waitedMs > deadlineMs) throw new Violation(what, `not within ${deadlineMs} ms`)
      await sleep(pollMs)
    }
  }

  /** Ends all faults, so that everything must become visible. */
  #heal(): void {
    this.#world.note('EVENT everything is healed')
    this.#isHealed = true
    this.#world.endOutages()
    for (const node of nodes) this.#happenings.returnNode(node)
    this.#engines.simulatedElasticsearch.refusesWrites = false
    this.#engines.simulatedRedis.isFull = false
    for (const topic of [...documentTopics, 'account-keys'])
      this.#engines.simulatedKafka.topics.setTransaction(topic, false)
    if (this.#system.running('indexer').length === 0) this.#system.startIndexer()
    if (this.#system.running('api').length === 0) this.#system.startApi()
    if (this.#isAbout('forgotten-deletions')) this.#rebuildUntilDone()
    else if (this.#history.events.some(setsBackBroker)) this.#rebuildOnceLogCountsAsReplaced()
  }

  /** Rebuilds, as an operator does who reads that a log was replaced. */
  #rebuildOnceLogCountsAsReplaced(): void {
    this.#onceReported(
      () => this.#system.hasReplacedLog,
      () => {
        this.neededRebuild = true
        this.#system.startRebuild(() => undefined)
      },
    )
  }

  /**
   * Rebuilds, as an operator does, while indexers report that they may have missed deletions. Repeats, because an unfinished rebuild may
   * have missed some, too, a rebuild does nothing before any indices serve, and an event may kill one in its switch.
   */
  #rebuildUntilDone(): void {
    this.#system.startRebuild(() => undefined)
    this.#onceReported(
      () => this.#checks.watermarkMs() === undefined && this.#system.running('rebuild').length === 0,
      () => this.#rebuildUntilDone(),
    )
  }

  /** Calls `act` once indexers report that a rebuild is needed. */
  #onceReported(isReported: () => boolean, act: () => void): void {
    this.#world.schedule(reportPollMs, 'whether a rebuild is needed', undefined, () =>
      isReported() ? act() : this.#onceReported(isReported, act),
    )
  }

  #appendKey(team: string): void {
    const value = accountKeyRecord({ digest: sha256(keyOf(team)), createdAt: new Date().toISOString() })
    this.#engines.simulatedKafka.append(this.#system.config.TOPIC_ACCOUNT_KEYS, `${team}/k1`, value)
  }
}

const keyOf = (team: string): string => `rqp_acct_${sha256(team)}`
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
