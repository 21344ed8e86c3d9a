import { setTimeout as sleep } from 'node:timers/promises'
import type { Program } from '../support/programs.ts'
import type { Json } from '../support/randomHistory.ts'
import { type Entry, gone, type SentJournal } from './journal.ts'
import type { Problems } from './problems.ts'

/** Longer than any deadline of the API. */
const patienceMs = 20_000
const pauseMs = 60

/** An API that is polled, or what stands before several. */
type Polled = Pick<Program, 'url'> & Partial<Pick<Program, 'metric'>>

/** Calls whose failure explains a 503, although no fault is meant to stop an engine: a busy machine does. */
const explaining = 'engine='

export type Answer = { readonly status: number; readonly watermark: string | null; readonly body: Json }

export async function fetchAnswer(api: Pick<Program, 'url'>, key: string, path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(api.url + path, { headers, signal: AbortSignal.timeout(patienceMs) })
  const watermark = response.headers.get('replica-watermark')
  return { status: response.status, watermark, body: await response.json() }
}

/** What a reader saw during faults and recovery. */
export type SeenDuringFaults = {
  answers: number
  /** Answers with 503. */
  refusals: number
  /** The longest time (ms) between two answers. */
  longestGapMs: number
  /** The greatest age (ms) of a watermark. */
  oldestMs: number
}

const nothingSeen = (): SeenDuringFaults => ({ answers: 0, refusals: 0, longestGapMs: 0, oldestMs: 0 })

/**
 * Polls the submissions of a steady writer at each API in turn. Checks that a 200 contains everything appended before its watermark and nothing that was
 * never sent, that the watermark does not go back unless there are faults, and that 503 occurs only during faults, or when an engine did not answer an API.
 */
export class PollingReader {
  /** Whether no fault lasts, so that every answer must be a 200 with a watermark. */
  #isCalm = false
  #seenSince = nothingSeen()
  #lastAnswerAtMs = Date.now()
  /** Answers with 200. */
  answers = 0
  readonly #journal: SentJournal
  readonly #problems: Problems
  readonly #team: string
  readonly #steady: readonly Entry[]
  readonly #before = new Map<string, number>()
  /** Of each API, the failed calls as of the begin of the round or the last answer that they explain. */
  readonly #failedCalls = new Map<string, number>()
  #judged = 0
  #watermarkMs = 0

  constructor(journal: SentJournal, problems: Problems, team: string, steady: readonly Entry[]) {
    this.#journal = journal
    this.#problems = problems
    this.#team = team
    this.#steady = steady
  }

  beginFaults(): void {
    this.#isCalm = false
    this.#seenSince = nothingSeen()
    this.#failedCalls.clear()
  }

  /** Ends the faults; returns what was seen since they began. */
  endFaults(): SeenDuringFaults {
    this.#isCalm = true
    return this.#seenSince
  }

  async run(apis: readonly Polled[], key: string, signal: AbortSignal): Promise<void> {
    for (let turn = 0; !signal.aborted; turn++) {
      const api = apis[turn % apis.length]
      const wasCalm = this.#isCalm
      try {
        if (api === undefined) throw new Error('there is no API')
        if (!this.#failedCalls.has(api.url)) await this.#haveCallsFailed(api)
        await this.#judge(api, await fetchAnswer(api, key, '/api/v1/records?limit=100'), () => wasCalm && this.#isCalm)
      } catch (error) {
        if (!signal.aborted) await this.#problems.add('reader', (error as Error).message)
      }
      await sleep(pauseMs)
    }
  }

  async #judge(api: Polled, { status, watermark, body }: Answer, isCalm: () => boolean): Promise<void> {
    if (status === 503 && ((await this.#haveCallsFailed(api)) || !isCalm())) {
      this.#seenSince.refusals++
      return
    }
    if (status !== 200)
      throw new Error(`status ${status} ${isCalm() ? 'without any fault' : ''} ${JSON.stringify(body)}`)
    this.#noteAnswer(watermark)
    if (watermark === null && isCalm()) throw new Error('an answer without a watermark, without any fault')
    const items = new Map<string, number>(body.items.map((item: Json) => [item.id, item.serialNumber]))
    if (items.size !== body.totalDocs) throw new Error(`${items.size} items of ${body.totalDocs}`)
    if (watermark !== null) await this.#judgePromise(watermark, items)
    for (const [id, revision] of items)
      if (revision > this.#journal.highestSent('submissions', this.#keyOf(id)))
        await this.#suspect('never sent', `${id} is served at ${revision}`, id)
  }

  #noteAnswer(watermark: string | null): void {
    const nowMs = Date.now()
    const seen = this.#seenSince
    seen.answers++
    this.answers++
    seen.longestGapMs = Math.max(seen.longestGapMs, nowMs - this.#lastAnswerAtMs)
    if (watermark !== null) seen.oldestMs = Math.max(seen.oldestMs, nowMs - Date.parse(watermark))
    this.#lastAnswerAtMs = nowMs
  }

  /** Whether calls of the API have failed since this was last asked in this round. */
  async #haveCallsFailed({ url, metric }: Polled): Promise<boolean> {
    const now = (await metric?.('tidemark_engine_call_errors_total', explaining)) ?? 0
    const before = this.#failedCalls.get(url) ?? now
    this.#failedCalls.set(url, now)
    return now > before
  }

  async #judgePromise(watermark: string, items: ReadonlyMap<string, number>): Promise<void> {
    const nowMs = Date.parse(watermark)
    const back = `${watermark} after ${new Date(this.#watermarkMs).toISOString()}`
    // Faults may have set Redis back to an older state.
    if (this.#isCalm && nowMs < this.#watermarkMs) await this.#problems.add('watermark falls back', back)
    this.#watermarkMs = Math.max(nowMs, this.#watermarkMs)
    for (let entry = this.#steady[this.#judged]; entry !== undefined && entry.atMs < nowMs; ) {
      this.#before.set(entry.key, Math.max(entry.revision ?? 0, this.#before.get(entry.key) ?? 0))
      entry = this.#steady[++this.#judged]
    }
    for (const [key, revision] of this.#before) {
      const id = key.slice(this.#team.length + 1)
      const served = items.get(id) ?? (this.#journal.highestSent('submissions', key) === gone ? gone : 0)
      // Rows promised by a later watermark of another answer may be missing here only if this watermark is lower.
      if (served < revision && nowMs >= this.#watermarkMs)
        await this.#suspect('promise broken', `${id} is served at ${served}, not ${revision}, before ${watermark}`, id)
    }
  }

  #suspect(kind: string, problem: string, id: string): Promise<void> {
    return this.#problems.add(kind, problem, [{ topic: 'submissions', key: this.#keyOf(id) }])
  }

  #keyOf(id: string): string {
    return `${this.#team}/${id}`
  }
}
