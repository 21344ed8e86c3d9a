/** Bounds what is under way in bytes. Taking never fails; whoever fetches more waits for room first. */
export class ByteBudget {
  readonly maxBytes: number
  #takenBytes = 0
  #waiting: (() => void)[] = []

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  get takenBytes(): number {
    return this.#takenBytes
  }

  take(bytes: number): void {
    this.#takenBytes += bytes
  }

  give(bytes: number): void {
    this.#takenBytes -= bytes
    if (!this.hasRoom()) return
    for (const wake of this.#waiting.splice(0)) wake()
  }

  hasRoom(): boolean {
    return this.#takenBytes < this.maxBytes
  }

  /** Resolves when less than the bound is taken. */
  async room(): Promise<void> {
    while (!this.hasRoom()) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
