/** The figures of one moment; those that were not known are undefined. */
export type Sample = {
  readonly atMs: number
  readonly watermarkAgeSeconds: number | undefined
  readonly behindRecords: number | undefined
  readonly recordsPerSecond: number | undefined
  readonly deadLetters: number | undefined
}

export const sampleEveryMs = 5_000
export const historyMs = 15 * 60_000
const maxSamples = historyMs / sampleEveryMs

/** The last quarter of an hour. */
export class History {
  readonly #samples: Sample[] = []

  add(sample: Sample): void {
    this.#samples.push(sample)
    if (this.#samples.length > maxSamples) this.#samples.shift()
  }

  /** The oldest first. */
  samples(): readonly Sample[] {
    return this.#samples
  }
}
