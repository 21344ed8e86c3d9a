/** In order of time; events of the same time in order of their addition. */
export class EventQueue<Event extends { readonly atMs: number }> {
  /** In descending order: the next event is the last one. */
  readonly #events: Event[] = []

  add(event: Event): void {
    const later = this.#events.findLastIndex(({ atMs }) => atMs > event.atMs)
    this.#events.splice(later + 1, 0, event)
  }

  /** Removes and returns the next event, if it is not later than `untilMs`. */
  take(untilMs = Number.POSITIVE_INFINITY): Event | undefined {
    const next = this.#events.at(-1)
    return next !== undefined && next.atMs <= untilMs ? this.#events.pop() : undefined
  }
}
