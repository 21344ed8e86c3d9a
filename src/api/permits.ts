/** Gives a place back. */
export type Leave = () => void

/** Places for so many at once, and for so many of each party. `enter` tells which of the two bounds is reached. */
export class Places {
  readonly #maxInAll: number
  readonly #maxOfParty: number
  readonly #ofParty = new Map<string, number>()
  #inAll = 0

  constructor({ inAll, ofParty }: { readonly inAll: number; readonly ofParty: number }) {
    this.#maxInAll = inAll
    this.#maxOfParty = ofParty
  }

  enter(party: string): Leave | 'none in all' | 'none of party' {
    const count = this.#ofParty.get(party) ?? 0
    if (count >= this.#maxOfParty) return 'none of party'
    if (this.#inAll >= this.#maxInAll) return 'none in all'
    this.#ofParty.set(party, count + 1)
    this.#inAll++
    return () => {
      const left = (this.#ofParty.get(party) ?? 1) - 1
      if (left === 0) this.#ofParty.delete(party)
      else this.#ofParty.set(party, left)
      this.#inAll--
    }
  }
}
