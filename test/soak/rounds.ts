import { setTimeout as sleep } from 'node:timers/promises'
import { submissionEntity } from '../support/entities.ts'
import { type Random, seeded } from '../support/random.ts'
import { type HistoryRecord, randomHistory } from '../support/randomHistory.ts'
import type { Appender } from './appender.ts'
import { type Draft, gone } from './journal.ts'

export const randomTeams = randomHistory(0, 0).teams
export const steadyTeam = 'steady'

const recordsPerRound = 400
const mostAppendMs = 14_000
/** Rounds after which the entities are new ones: most of the old ones are deleted by then. */
const roundsPerEpoch = 12
/** Revisions of one entity are never the same in two rounds. */
const revisionSpacing = 1_000

/**
 * A round's random records. Revisions of all rounds lie between one another, so that much of what a round writes is late or is
 * overtaken by what an earlier one wrote; some records of earlier rounds come once more.
 */
export function roundOfRecords(seed: number, round: number, earlier: readonly Draft[]): Draft[] {
  const random = seeded(seed + round * 7_919)
  const drafts = randomHistory(random.below(2 ** 31), recordsPerRound).records.map((record) => inRound(record, round))
  const again = earlier.length === 0 ? [] : Array.from({ length: recordsPerRound / 10 }, () => random.pick(earlier))
  return [...drafts, ...again]
    .map((draft) => ({ draft, at: random.next() }))
    .sort(late)
    .map(({ draft }) => draft)
}

const late = (a: { at: number }, b: { at: number }): number => Number(a.at > 0.9) - Number(b.at > 0.9)

function inRound(record: HistoryRecord, round: number): Draft {
  if (record.isPoison) return { ...record, revision: undefined }
  const epoch = Math.floor(round / roundsPerEpoch)
  const id = record.key.toString().split('/')[1] ?? ''
  const key = Buffer.from(epoch === 0 ? record.key.toString() : `${record.key.toString()}.${epoch}`)
  if (record.value === null) return { ...record, key, revision: gone }
  const text = record.value.toString()
  const [, digits = ''] = /"revision":\s*(\d+)/.exec(text) ?? []
  const revision = (Number(digits) + 2 * round) * revisionSpacing + (round % revisionSpacing)
  const value = text
    .replace(/("revision":\s*)\d+/, `$1${revision}`)
    .replace(new RegExp(`("id":\\s*)"${id}"`), epoch === 0 ? `$1"${id}"` : `$1"${id}.${epoch}"`)
  return { ...record, key, value: Buffer.from(value), revision }
}

/** Appends a round's records, now evenly, now in bursts. */
export async function appendOver(
  appender: Appender,
  drafts: readonly Draft[],
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  const overMs = 2_000 + random.below(mostAppendMs)
  const chunk = random.pick([4, 25, 100])
  for (let at = 0; at < drafts.length; at += chunk) {
    await appender.append(drafts.slice(at, at + chunk))
    await sleep((overMs * chunk) / drafts.length, undefined, { signal })
  }
}

const tickMs = 100
const entities = 90

/** One team's submissions at a steady rate, new revisions, late ones and deletions, for as long as it is not paused. */
export class SteadyWriter {
  readonly #appender: Appender
  readonly #random: Random
  readonly #perTick: number
  readonly #ids = Array.from({ length: entities }, (_, at) => `s-${at}`)
  readonly #revisions = new Map<string, number>()
  readonly #deleted: string[] = []
  #created = entities
  #running: Promise<void> | undefined
  #pause = new AbortController()

  constructor(appender: Appender, seed: number, perSecond: number) {
    this.#appender = appender
    this.#random = seeded(seed)
    this.#perTick = Math.ceil((perSecond * tickMs) / 1_000)
  }

  start(onError: (error: unknown) => void): void {
    this.#pause = new AbortController()
    this.#running = this.#run(this.#pause.signal).catch(onError)
  }

  /** Resolves once everything is appended. */
  async pause(): Promise<void> {
    this.#pause.abort()
    await this.#running
  }

  async #run(paused: AbortSignal): Promise<void> {
    while (!paused.aborted) {
      const startedAtMs = Date.now()
      await this.#appender.append(Array.from({ length: this.#perTick }, () => this.#next()))
      await sleep(Math.max(0, startedAtMs + tickMs - Date.now()))
    }
  }

  #next(): Draft {
    const random = this.#random
    if (this.#deleted.length > 0 && random.chance(0.01))
      return draftOf(random.pick(this.#deleted), 1 + random.below(99))
    const slot = random.below(this.#ids.length)
    const id = this.#ids[slot] ?? ''
    const known = this.#revisions.get(id) ?? 0
    if (known > 1 && random.chance(0.1)) return draftOf(id, 1 + random.below(known))
    if (random.chance(0.001)) {
      // Its place is taken by a new one, so that a page holds all there are.
      this.#ids[slot] = `s-${this.#created++}`
      this.#deleted.push(id)
      return draftOf(id, gone)
    }
    this.#revisions.set(id, known + 1)
    return draftOf(id, known + 1)
  }
}

const draftOf = (id: string, revision: number): Draft => ({
  topic: 'submissions',
  key: Buffer.from(`${steadyTeam}/${id}`),
  value:
    revision === gone
      ? null
      : Buffer.from(JSON.stringify({ revision, submission: { ...submissionEntity({ id }), serialNumber: revision } })),
  isPoison: false,
  revision,
})
