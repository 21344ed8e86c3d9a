type Entry<T> = { readonly atMs: number; readonly event: T }

/** What is still to happen, in the order of time; of the same instant, what was noted first comes first. */
export class Agenda<T> {
  /** The soonest last. */
  readonly #entries: Entry<T>[] = []

  note(atMs: number, event: T): void {
    const index = this.#entries.findLastIndex((entry) => entry.atMs > atMs)
    this.#entries.splice(index + 1, 0, { atMs, event })
  }

  /** Takes out, one by one, what happens at `untilMs` at the latest, also what is noted meanwhile. */
  *due(untilMs: number): Generator<Entry<T>> {
    for (;;) {
      const next = this.#entries.at(-1)
      if (next === undefined || next.atMs > untilMs) return
      this.#entries.pop()
      yield next
    }
  }
}
