const windowMs = 60_000
/** Over a shorter time, one step would look like a rate. */
const leastMs = 2_000

/** How fast a number grows: over the last minute, or since its first note. */
export class Pace {
  #notes: { readonly atMs: number; readonly value: number }[] = []

  note(value: number, atMs: number): void {
    if (value < (this.#notes.at(-1)?.value ?? value)) this.#notes = []
    this.#notes.push({ atMs, value })
    while ((this.#notes[1]?.atMs ?? atMs) <= atMs - windowMs) this.#notes.shift()
  }

  /** Undefined until two seconds have passed. */
  perSecond(): number | undefined {
    const [first, last] = [this.#notes[0], this.#notes.at(-1)]
    if (first === undefined || last === undefined || last.atMs - first.atMs < leastMs) return undefined
    return ((last.value - first.value) * 1_000) / (last.atMs - first.atMs)
  }
}
