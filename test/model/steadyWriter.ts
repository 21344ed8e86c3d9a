import { setTimeout as sleep } from 'node:timers/promises'
import { submissionEntity } from '../support/entities.ts'
import { type Random, seeded } from '../support/random.ts'
import type { Appender } from './appender.ts'
import { type Draft, gone } from './journal.ts'

const tickMs = 100
const entities = 90

/** Writes one team's submissions at a steady rate until paused: new revisions, late ones, deletions. */
export class SteadyWriter {
  readonly #appender: Appender
  readonly #team: string
  readonly #random: Random
  readonly #perTick: number
  readonly #ids = Array.from({ length: entities }, (_, at) => `s-${at}`)
  readonly #revisions = new Map<string, number>()
  readonly #deleted: string[] = []
  #created = entities
  #running: Promise<void> | undefined
  #pause = new AbortController()

  constructor(appender: Appender, team: string, { seed, perSecond }: { seed: number; perSecond: number }) {
    this.#appender = appender
    this.#team = team
    this.#random = seeded(seed)
    this.#perTick = Math.ceil((perSecond * tickMs) / 1_000)
  }

  start(onError: (error: unknown) => void): void {
    this.#pause = new AbortController()
    this.#running = this.#run(this.#pause.signal).catch(onError)
  }

  /** Pauses; resolves once everything is appended. */
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
      return this.#draftOf(random.pick(this.#deleted), 1 + random.below(99))
    const slot = random.below(this.#ids.length)
    const id = this.#ids[slot] ?? ''
    const known = this.#revisions.get(id) ?? 0
    if (known > 1 && random.chance(0.1)) return this.#draftOf(id, 1 + random.below(known))
    if (random.chance(0.001)) {
      // A new entity replaces a deleted one, so that all fit on one page.
      this.#ids[slot] = `s-${this.#created++}`
      this.#deleted.push(id)
      return this.#draftOf(id, gone)
    }
    this.#revisions.set(id, known + 1)
    return this.#draftOf(id, known + 1)
  }

  #draftOf(id: string, revision: number): Draft {
    const entity = { ...submissionEntity({ id }), serialNumber: revision }
    return {
      topic: 'submissions',
      key: Buffer.from(`${this.#team}/${id}`),
      value: revision === gone ? null : Buffer.from(JSON.stringify({ revision, submission: entity })),
      revision,
    }
  }
}
