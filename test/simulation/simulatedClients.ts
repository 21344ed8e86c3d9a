import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Follower } from '../model/follower.ts'
import { gone } from '../model/journal.ts'
import type { Random } from '../support/random.ts'
import { CursorCheck, type CursorKeys } from './cursorCheck.ts'
import type { DocumentTopic } from './history.ts'
import { revisionIn, type SimulatedJournal } from './journal.ts'
import { type Published, positionOf } from './positionChecks.ts'
import { type Answer, NoAnswer, type RunningApi, type System } from './system.ts'
import { SimulatedProcess } from './world/process.ts'
import { randomFor } from './world/randomness.ts'
import { runningProcess } from './world/virtualGlobals.ts'
import { Violation } from './world/world.ts'

const baseUrl = 'http://api/api/v1'
export const paths: Readonly<Record<DocumentTopic, string>> = { forms: 'forms', submissions: 'records' }
const pollMs = 800
const followerPollMs = 500
/** How often a client polls, at most, once the system is healed. */
const healedPollMs = 2_000

type Item = { readonly id: string; readonly title?: string; readonly serialNumber?: number }

type ReaderDeps = {
  readonly system: System
  readonly journal: SimulatedJournal
  readonly cursorKeys: CursorKeys
  readonly keyOf: (team: string) => string
  /** Whether clocks agree, so that answers can be checked against their watermark. */
  readonly clocksAgree: boolean
  /** Whether Redis keeps what is published: it neither restarts, nor is emptied, nor replaced. */
  readonly keepsPublished: boolean
  /** Whether readers cache answers and send `If-None-Match`. */
  readonly holdsAnswers: boolean
  /** Whether all faults have ended. */
  isHealed(): boolean
}

/** Makes `fetch` in simulated processes reach a running API. */
export function simulateFetch(system: System): void {
  globalThis.fetch = async (target, { headers = {} } = {}) => {
    const process = runningProcess()
    if (!(process instanceof SimulatedProcess)) throw new Error('fetch outside of the simulation')
    const url = String(target).slice(new URL(baseUrl).origin.length)
    const { status, headers: received, body } = await askApi(system, process, url, headers as Record<string, string>)
    return new Response(status === 304 ? null : body, { status, headers: received })
  }
}

/** Sends a request to one of the running API processes. Rejects with `NoAnswer`. */
export function askApi(
  system: System,
  client: SimulatedProcess,
  url: string,
  headers: Record<string, string>,
): Promise<Answer> {
  const apis = system.running('api').filter((running) => 'listener' in running) as RunningApi[]
  const api = apis[Math.floor(client.random() * apis.length)]
  if (api === undefined) return Promise.reject(new NoAnswer('no API runs'))
  return system.request(api, client, url, headers)
}

/** A client that follows one list of a team by the change feed, in a process of its own. */
export class SimulatedFollower {
  readonly name: string
  readonly #truth: () => ReadonlyMap<string, Item>
  readonly #follower: Follower
  readonly #cursorCheck: CursorCheck
  /** The cursor of the last answer without more rows; undefined before the first one. */
  #cursor: string | undefined

  constructor({ system, journal, cursorKeys, keyOf, keepsPublished }: ReaderDeps, team: string, topic: DocumentTopic) {
    this.name = `follower of ${team} ${topic}`
    this.#truth = () => journal.truthFor(topic, team) as Map<string, Item>
    // Few rows a page, so that most walks take several answers.
    const source = { baseUrl, accountKey: keyOf(team), list: paths[topic] as 'forms' | 'records', limit: 2 }
    const onProblem = (invariant: string, what: string): void => {
      // Redis may have lost publications.
      if (invariant === 'the watermark never goes back' && !keepsPublished) return
      throw new Violation(invariant, `${this.name}: ${what}`)
    }
    this.#cursorCheck = new CursorCheck(cursorKeys, journal, team, topic)
    const onWhole = (cursor: string, items: ReadonlyMap<string, Item>): void => {
      this.#cursor = cursor
      this.#cursorCheck.expectWhole(cursor, items)
    }
    const options = { pollMs: followerPollMs, onProblem, onWhole }
    const process = new SimulatedProcess(system.world, this.name)
    this.#follower = process.run(() => new Follower(source, options))
    this.#follower.ended.catch((error: unknown) => system.world.fail(error))
  }

  get watermarkMs(): number {
    return this.#follower.watermarkMs
  }

  /** Whether the cursor of the last whole copy is above every record of its list. */
  get isAtEnd(): boolean {
    return this.#cursor !== undefined && this.#cursorCheck.isAtEnd(this.#cursor)
  }

  get answers(): number {
    return this.#follower.answers
  }

  /** Throws unless the client's copy has exactly the newest state of every entity. */
  expectTruth(): void {
    const [copied, expected] = [this.#follower.items, this.#truth()]
    if (!isDeepStrictEqual(copied, expected))
      throw new Violation(
        'a follower misses nothing',
        `${this.name} holds ${described(copied)}, the truth is ${described(expected)}`,
      )
  }
}

const described = (items: ReadonlyMap<string, Item>): string =>
  [...items]
    .map(([id, item]) => `${id}@${revisionIn(item)}`)
    .sort()
    .join(' ') || 'nothing'

/** An answer with a whole list: `<team>/<id>` → revision. */
type WholeList = {
  readonly topic: DocumentTopic
  readonly revisions: ReadonlyMap<string, number>
  readonly isNotModified: boolean
  /** Describes the answer in messages. */
  readonly what: string
}

type Question = { readonly topic: DocumentTopic; readonly url: string; readonly isWhole: boolean }

/** A client that polls lists and single entities with the ETags of its cached answers. */
export class SimulatedPoller {
  readonly name: string
  readonly #deps: ReaderDeps
  readonly #team: string
  readonly #process: SimulatedProcess
  readonly #random: Random
  /** URL → cached answer. */
  readonly #held = new Map<string, { readonly etag: string; readonly items: readonly Item[] }>()
  #watermarkMs = 0

  constructor(deps: ReaderDeps, team: string, name: string) {
    this.name = name
    this.#deps = deps
    this.#team = team
    const { world } = deps.system
    this.#process = new SimulatedProcess(world, name)
    this.#random = randomFor(world.seed, name)
    this.#process.run(() => {
      this.#poll().catch((error: unknown) => world.fail(error))
    })
  }

  get watermarkMs(): number {
    return this.#watermarkMs
  }

  async #poll(): Promise<void> {
    for (;;) {
      const question = this.#question()
      const published = this.#published(question.topic)
      const etag = this.#held.get(question.url)?.etag
      const headers = {
        authorization: `Bearer ${this.#deps.keyOf(this.#team)}`,
        ...(etag !== undefined && { 'if-none-match': etag }),
      }
      try {
        const { system } = this.#deps
        this.#check(question, await askApi(system, this.#process, question.url, headers), published)
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error
      }
      await sleep(this.#random.below(this.#deps.isHealed() ? healedPollMs : pollMs))
    }
  }

  #question(): Question {
    const topic = this.#random.chance(0.4) ? 'forms' : 'submissions'
    const path = `/api/v1/${paths[topic]}`
    if (this.#random.chance(0.15))
      return { topic, url: `${path}?limit=2&page=${1 + this.#random.below(4)}`, isWhole: false }
    if (topic === 'submissions' && this.#random.chance(0.1))
      return { topic, url: `${path}?limit=100&status=completed`, isWhole: false }
    // Another limit requests the same rows, which no API has cached.
    const limit = this.#random.chance(0.2) ? 20 + this.#random.below(80) : 100
    return { topic, url: `${path}?limit=${limit}`, isWhole: true }
  }

  #check(question: Question, { status, headers, body }: Answer, published: Published | undefined): void {
    // 503: an engine is unavailable. 429: too many requests of the team are waiting.
    if (status === 503 || status === 429) return
    if (status !== 200 && status !== 304)
      throw new Violation('the API answers, or says 429 or 503', `${status} ${body} to ${question.url}`)
    const watermark = headers['replica-watermark']
    const watermarkMs = watermark === undefined ? undefined : Date.parse(watermark)
    const items = status === 304 ? (this.#held.get(question.url)?.items ?? []) : this.#itemsIn(question, body)
    const what = `${status} to ${this.#process.name} for ${question.url}`
    if (question.isWhole) {
      const revisions = new Map(items.map((item) => [`${this.#team}/${item.id}`, revisionIn(item)]))
      const answer = { topic: question.topic, revisions, isNotModified: status === 304, what }
      if (watermarkMs !== undefined) this.#expectPromise(answer, watermarkMs)
      if (published !== undefined) this.#expectPublished(answer, published)
    }
    this.#noteWatermark(what, watermark, watermarkMs)
    const etag = headers['etag']
    if (this.#deps.holdsAnswers && status === 200 && etag !== undefined) this.#held.set(question.url, { etag, items })
  }

  #noteWatermark(what: string, watermark: string | undefined, watermarkMs: number | undefined): void {
    if (watermarkMs === undefined) return
    // Redis may have lost publications.
    if (watermarkMs < this.#watermarkMs && this.#deps.keepsPublished)
      throw new Violation(
        'the watermark never goes back',
        `${what}: ${watermark} after ${new Date(this.#watermarkMs).toISOString()}`,
      )
    this.#watermarkMs = watermarkMs
  }

  /** The items of a list; throws unless every row is a state of an entity of this team. */
  #itemsIn({ topic, url }: Question, body: string): readonly Item[] {
    const { items } = JSON.parse(body) as { items: readonly Item[] }
    for (const item of items) {
      const key = `${this.#team}/${item.id}`
      const expected = this.#deps.journal.summary(topic, key, revisionIn(item))
      if (!isDeepStrictEqual(item, expected))
        throw new Violation(
          'every row is what was appended for its team',
          `${url}: ${JSON.stringify(item)} instead of ${JSON.stringify(expected)}`,
        )
    }
    if (new Set(items.map(({ id }) => id)).size !== items.length)
      throw new Violation('no row comes twice', `${url}: ${body}`)
    return items
  }

  /** Throws unless the answer contains everything appended before its watermark. */
  #expectPromise(answer: WholeList, watermarkMs: number): void {
    const { clocksAgree, journal } = this.#deps
    if (!clocksAgree) return
    const expected = journal.revisions(answer.topic, (record) => record.atMs < watermarkMs)
    const why = `it was appended before the watermark ${new Date(watermarkMs).toISOString()}`
    this.#expectOwed(answer, expected, 'the watermark is never above the truth', why)
  }

  /** Throws unless the answer contains everything that was published as visible when it was requested. */
  #expectPublished(answer: WholeList, published: Published): void {
    const expected = this.#deps.journal.revisions(
      answer.topic,
      (record) => record.offset < positionOf(published, record),
    )
    this.#expectOwed(answer, expected, 'no answer is older than what was published before it', 'it had been published')
  }

  #expectOwed(
    { topic, revisions, isNotModified, what }: WholeList,
    expected: ReadonlyMap<string, number>,
    invariant: string,
    why: string,
  ): void {
    for (const [key, version] of expected) {
      if (!key.startsWith(`${this.#team}/`)) continue
      const isThere =
        version === gone
          ? !revisions.has(key)
          : (revisions.get(key) ?? (this.#deps.journal.isDeleted(topic, key) ? version : 0)) >= version
      if (!isThere)
        throw new Violation(
          isNotModified ? 'no 304 for changed data' : invariant,
          `${what}: ${key} is at ${revisions.get(key)}, not ${version}, though ${why}`,
        )
    }
  }

  /** The published positions of the serving generation; undefined if Redis may lose them, or deletions may be missing. */
  #published(topic: DocumentTopic): Published | undefined {
    const { config, engines } = this.#deps.system
    const serving = engines.simulatedRedis.text(`${config.INDEX_PREFIX}:serving`)
    if (!this.#deps.keepsPublished || serving === undefined) return undefined
    const published = engines.simulatedRedis.hash(`${config.INDEX_PREFIX}:visible-positions:${topic}:${serving}`)
    return published['withheld'] === undefined ? published : undefined
  }
}
