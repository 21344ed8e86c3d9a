/** Something that happens at a moment of simulated time (ms). `what` names it in the trace; undefined for what needs no line there. */
export type Event = {
  readonly atMs: number
  /** Orders events in the order in which they were added, where they happen at one moment. */
  readonly order: number
  readonly what: string | undefined
  readonly owner: object | undefined
  readonly act: () => unknown
  isCancelled: boolean
}

/** Events by time: a binary heap. */
export class EventQueue {
  readonly #events: Event[] = []

  add(event: Event): void {
    const events = this.#events
    let at = events.push(event) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = events[parent] as Event
      if (!isBefore(event, above)) break
      events[at] = above
      at = parent
    }
    events[at] = event
  }

  /** Removes the next event. */
  take(): Event | undefined {
    const events = this.#events
    const first = events[0]
    const last = events.pop()
    if (first === undefined || last === undefined || events.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      const [left, right] = [events[child], events[child + 1]]
      if (left === undefined) break
      if (right !== undefined && isBefore(right, left)) child++
      const below = events[child] as Event
      if (!isBefore(below, last)) break
      events[at] = below
      at = child
    }
    events[at] = last
    return first
  }
}

const isBefore = (a: Event, b: Event): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
