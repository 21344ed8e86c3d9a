/** A second call has no effect. */
export type Release = () => void

/** `full`: all teams together use the capacity, or too many wait. `own-share`: the team uses its whole share. */
export type Permit =
  | { readonly kind: 'granted'; readonly release: Release }
  | { readonly kind: 'full' }
  | { readonly kind: 'own-share' }
  | { readonly kind: 'aborted' }

type Bounds = {
  /** The capacity: the most weight of permits that are granted and not yet released. */
  readonly maxRunning: number
  readonly maxRunningPerTeam: number
  /** None wait if left out. */
  readonly maxWaiting?: number
  readonly maxWaitMs?: number
}

type Waiter = { readonly weight: number; admit(): void }
type Team = { running: number; readonly waiting: Set<Waiter> }
/** The waiter whose turn it is, but for which too little capacity is free. `overtaking`: the weight of running permits that were granted since. */
type Next = { readonly waiter: Waiter; readonly team: Team; overtaking: number }

/**
 * A weighted semaphore with a bounded queue that serves teams round robin, so that a busy team delays only itself. A permit that is heavier than its
 * team's share weighs the whole share.
 *
 * Capacity that becomes free is reserved for the next waiter; others get only what it will not need: of a capacity of 10, if the next waiter wants 8,
 * others may get 2. So light waiters do not overtake a heavy waiter for ever, and it does not block them.
 */
export class FairQueue {
  readonly #bounds: Bounds
  /** In the order of their turns. */
  readonly #teams = new Map<string, Team>()
  #running = 0
  #waiting = 0
  #next: Next | undefined
  /** The fraction (0 to 1) of the capacity, and of each team's share, that may be granted. */
  openFraction = 1

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  get teams(): number {
    return this.#teams.size
  }

  get usedFraction(): number {
    return this.#running / this.#bounds.maxRunning
  }

  /** Waits at most `maxWaitMs` for a permit of the team `name`. */
  async acquire(
    name: string,
    signal: AbortSignal,
    requestedWeight = 1,
    maxWaitMs = this.#bounds.maxWaitMs,
  ): Promise<Permit> {
    if (signal.aborted) return { kind: 'aborted' }
    const team = this.#teamOf(name)
    const weight = Math.min(requestedWeight, this.#bounds.maxRunningPerTeam)
    const isFirst = team.waiting.size === 0
    if (isFirst && this.#isWithinShare(team, weight) && this.#hasRoomFor(weight)) return this.#grant(name, team, weight)
    if (this.#waiting >= (this.#bounds.maxWaiting ?? 0)) return { kind: 'full' }
    return await this.#wait(name, team, weight, maxWaitMs, signal)
  }

  /** Acquires weight 1, without waiting. */
  acquireNow(name: string): Permit {
    const team = this.#teamOf(name)
    if (team.waiting.size > 0 || team.running + 1 > this.#bounds.maxRunningPerTeam) return { kind: 'own-share' }
    return this.#hasRoomFor(1) ? this.#grant(name, team, 1) : { kind: 'full' }
  }

  /** However small `fraction` is, one permit is granted while nothing runs. */
  open(fraction: number): void {
    if (fraction === this.openFraction) return
    this.openFraction = fraction
    this.#admitWaiting()
  }

  #teamOf = (name: string): Team => this.#teams.get(name) ?? { running: 0, waiting: new Set() }

  #isWithinShare = (team: Team, weight: number): boolean =>
    this.#fits(team.running, weight, this.#bounds.maxRunningPerTeam)

  #hasRoomFor = (weight: number): boolean =>
    this.#fits(this.#running, weight, this.#bounds.maxRunning) &&
    (this.#next === undefined ||
      this.#next.waiter.weight + this.#next.overtaking + weight <= this.#bounds.maxRunning * this.openFraction)

  #fits = (running: number, weight: number, max: number): boolean =>
    running === 0 || running + weight <= max * this.openFraction

  #wait(name: string, team: Team, weight: number, maxWaitMs: number | undefined, signal: AbortSignal) {
    const { promise, resolve } = Promise.withResolvers<Permit>()
    const dequeue = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      team.waiting.delete(waiter)
      this.#waiting--
      if (this.#next?.waiter === waiter) this.#next = undefined
    }
    const refuse = (kind: 'full' | 'own-share' | 'aborted'): void => {
      dequeue()
      this.#forgetIfIdle(name, team)
      resolve({ kind })
      // Capacity may have been reserved for this waiter.
      this.#admitWaiting()
    }
    const onAbort = (): void => refuse('aborted')
    const waitsForOtherTeams = (): boolean => {
      // Other teams use the capacity; or they come first, because the team is within its share and this is its first waiter.
      const isFirst = team.waiting.values().next().value === waiter
      const fitsBesideOtherTeams = this.#fits(this.#running - team.running, weight, this.#bounds.maxRunning)
      return !fitsBesideOtherTeams || (isFirst && this.#isWithinShare(team, weight))
    }
    const timer = setTimeout(() => refuse(waitsForOtherTeams() ? 'full' : 'own-share'), maxWaitMs)
    signal.addEventListener('abort', onAbort, { once: true })
    const waiter = {
      weight,
      admit: (): void => {
        dequeue()
        resolve(this.#grant(name, team, weight))
      },
    }
    this.#teams.set(name, team)
    team.waiting.add(waiter)
    this.#waiting++
    // Makes this waiter `#next`, if its turn has come.
    this.#admitWaiting()
    return promise
  }

  #grant(name: string, team: Team, weight: number): Permit {
    // Moves the team to the end of the turns.
    this.#teams.delete(name)
    this.#teams.set(name, team)
    const next = this.#next
    if (next !== undefined) next.overtaking += weight
    team.running += weight
    this.#running += weight
    let isReleased = false
    const release = (): void => {
      if (isReleased) return
      isReleased = true
      if (next !== undefined) next.overtaking -= weight
      team.running -= weight
      this.#running -= weight
      this.#forgetIfIdle(name, team)
      this.#admitWaiting()
    }
    return { kind: 'granted', release }
  }

  #admitWaiting(): void {
    if (this.#waiting === 0) return
    for (let waiter = this.#admissible(); waiter !== undefined; waiter = this.#admissible()) waiter.admit()
  }

  /** The next waiter if it fits, else the first waiter that leaves enough for it. Sets `#next` if it was undefined. */
  #admissible(): Waiter | undefined {
    // `open` may have reduced the team's share since the waiter became `#next`.
    if (this.#next && !this.#isWithinShare(this.#next.team, this.#next.waiter.weight)) this.#next = undefined
    const next = this.#next?.waiter
    if (next !== undefined && this.#fits(this.#running, next.weight, this.#bounds.maxRunning)) return next
    for (const team of this.#teams.values()) {
      const [first] = team.waiting
      if (first === undefined || !this.#isWithinShare(team, first.weight)) continue
      if (this.#hasRoomFor(first.weight)) return first
      this.#next ??= { waiter: first, team, overtaking: 0 }
    }
    return undefined
  }

  #forgetIfIdle(name: string, team: Team): void {
    if (team.running === 0 && team.waiting.size === 0) this.#teams.delete(name)
  }
}
