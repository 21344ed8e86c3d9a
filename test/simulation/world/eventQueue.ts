/** Something that happens at a moment of simulated time (ms), after what was added before for the same moment. `what` names it in the trace; undefined for what needs no line there. */
export type Event = {
  readonly atMs: number
  readonly what: string | undefined
  readonly owner: object | undefined
  readonly act: () => unknown
  isCancelled: boolean
}

/** Events by time. */
export class EventQueue {
  /** The next one is the last. */
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

  /** Removes the next event. */
  take(): Event | undefined {
    return this.#events.pop()
  }
}
