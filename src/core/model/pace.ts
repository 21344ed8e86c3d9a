const windowMs = 60_000
/** Over a shorter time (ms), one step of progress would look like a rate. */
const leastMs = 2_000

/** How fast a number grows: over the last minute, or since it was noted first. */
export class Pace {
  #notes: { readonly atMs: number; readonly value: number }[] = []

  /** A lower value than before begins anew. */
  note(value: number, atMs: number): void {
    if (value < (this.#notes.at(-1)?.value ?? value)) this.#notes = []
    this.#notes.push({ atMs, value })
    // One note from before the window stays, so that the rate is over at least the whole window.
    while ((this.#notes[1]?.atMs ?? atMs) <= atMs - windowMs) this.#notes.shift()
  }

  /** Undefined until two seconds have passed. */
  perSecond(): number | undefined {
    const [first, last] = [this.#notes[0], this.#notes.at(-1)]
    if (first === undefined || last === undefined || last.atMs - first.atMs < leastMs) return undefined
    return ((last.value - first.value) * 1_000) / (last.atMs - first.atMs)
  }
}
