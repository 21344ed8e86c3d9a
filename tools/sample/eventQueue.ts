type Entry<T> = { readonly atMs: number; readonly event: T }

/** Future events in the order of time; events of the same instant in the order in which they were added. */
export class EventQueue<T> {
  /** The next event is the last entry. */
  readonly #entries: Entry<T>[] = []

  add(atMs: number, event: T): void {
    const index = this.#entries.findLastIndex((entry) => entry.atMs > atMs)
    this.#entries.splice(index + 1, 0, { atMs, event })
  }

  /** Removes and yields the events up to `untilMs`, including those that are added meanwhile. */
  *due(untilMs: number): Generator<Entry<T>> {
    for (;;) {
      const next = this.#entries.at(-1)
      if (next === undefined || next.atMs > untilMs) return
      this.#entries.pop()
      yield next
    }
  }
}
