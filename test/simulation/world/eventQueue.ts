/** An event at a simulated time (ms); events of one time keep their order. `what`: its line in the trace; undefined for none. */
export type Event = {
  readonly atMs: number
  readonly what: string | undefined
  readonly owner: object | undefined
  readonly act: () => unknown
  isCancelled: boolean
}

/** Events by time. */
export class EventQueue {
  /** In descending order: the last one is the next. */
  readonly #events: Event[] = []

  add(event: Event): void {
    let [from, to] = [0, this.#events.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#events[middle]?.atMs ?? 0) > event.atMs) from = middle + 1
      else to = middle
    }
    this.#events.splice(from, 0, event)
  }

  /** Removes and returns the next event. */
  take(): Event | undefined {
    return this.#events.pop()
  }
}
