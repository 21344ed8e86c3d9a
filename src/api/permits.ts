/** Gives a place back. */
export type Leave = () => void

/** Places for so many at once, and for so many of each party. `enter` tells which of the two bounds is reached. */
export class Places {
  readonly #maxInAll: number
  readonly #maxOfParty: number
  readonly #perTenant = new Map<string, number>()
  #total = 0

  constructor({ total, perTenant }: { readonly total: number; readonly perTenant: number }) {
    this.#maxInAll = total
    this.#maxOfParty = perTenant
  }

  enter(party: string): Leave | 'none in all' | 'none of party' {
    const count = this.#perTenant.get(party) ?? 0
    if (count >= this.#maxOfParty) return 'none of party'
    if (this.#total >= this.#maxInAll) return 'none in all'
    this.#perTenant.set(party, count + 1)
    this.#total++
    return () => {
      const left = (this.#perTenant.get(party) ?? 1) - 1
      if (left === 0) this.#perTenant.delete(party)
      else this.#perTenant.set(party, left)
      this.#total--
    }
  }
}
