import type { Job } from './job.ts'

/** A record that cannot be stored at the moment. `sinceMs`: when a record of its entity failed first. */
type Blocked = { readonly place: string; readonly sinceMs: number; readonly reason: string }

/** The entities whose records have failed and are not stored yet. */
export class BlockedRecords {
  /** By entity; the one that failed first is the first. */
  readonly #blocked = new Map<string, Blocked>()

  get size(): number {
    return this.#blocked.size
  }

  note({ entity, place }: Job, reason: string, nowMs: number): void {
    const known = this.#blocked.get(entity)
    this.#blocked.set(entity, { place: known?.place ?? place(), sinceMs: known?.sinceMs ?? nowMs, reason })
  }

  /** Forgets an entity; whether it was blocked. */
  delete({ entity }: Job): boolean {
    return this.#blocked.delete(entity)
  }

  /** For how long the one that failed first has been blocked (ms); 0 when none is. */
  longestMs(nowMs: number): number {
    const [first] = this.#blocked.values()
    return first === undefined ? 0 : nowMs - first.sinceMs
  }

  /** Names the record that failed first, for how long it has waited, and why; undefined when none waits. */
  describe(nowMs: number): string | undefined {
    const [first] = this.#blocked.values()
    if (first === undefined) return undefined
    const others = this.#blocked.size === 1 ? '' : ` and ${this.#blocked.size - 1} others`
    return `no progress for ${Math.floor(this.longestMs(nowMs) / 1_000)} s at ${first.place}${others}: ${first.reason}`
  }
}
