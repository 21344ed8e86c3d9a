import type { Random } from '../../support/random.ts'
import type { EngineName } from '../network.ts'
import { randomFor } from './randomness.ts'
import { runSimulated, type Simulated } from './virtualGlobals.ts'
import type { World } from './world.ts'

/** A process with its own clock and randomness, which may be frozen or killed at any time. */
export class SimulatedProcess implements Simulated {
  readonly name: string
  readonly #world: World
  readonly #random: Random
  readonly #timers: Random
  readonly #calls = new Map<EngineName, Random>()
  readonly #startedAtMs: number
  /** Offset of its wall clock (ms). */
  clockOffsetMs = 0
  frozenUntilMs = 0
  hasEnded = false

  constructor(world: World, name: string) {
    this.#world = world
    this.name = name
    this.#startedAtMs = world.nowMs
    this.#random = randomFor(world.seed, `${name} random`)
    this.#timers = randomFor(world.seed, `${name} timers`)
  }

  wallClockMs(): number {
    return Math.floor(this.#world.nowMs + this.clockOffsetMs)
  }

  elapsedMs(): number {
    return this.#world.nowMs - this.#startedAtMs
  }

  random(): number {
    return this.#random.next()
  }

  after(delayMs: number, act: () => void): () => void {
    return this.#world.schedule(delayMs + this.#timers.next() * 2, undefined, this, act)
  }

  /** One source of randomness per engine, so that an additional call to one engine changes nothing for the others. */
  randomOfCallsTo(engine: EngineName): Random {
    const known = this.#calls.get(engine) ?? randomFor(this.#world.seed, `${this.name} ${engine}`)
    this.#calls.set(engine, known)
    return known
  }

  /** Runs code as this process. */
  run<T>(code: () => T): T {
    return runSimulated(this, code)
  }

  /** Ends the process at once: its timers and pending calls never fire. */
  kill(): void {
    if (this.hasEnded) return
    this.#world.note(`${this.name} is killed`)
    this.hasEnded = true
  }

  freeze(forMs: number): void {
    this.#world.note(`${this.name} is frozen for ${forMs} ms`)
    this.frozenUntilMs = Math.max(this.frozenUntilMs, this.#world.nowMs + forMs)
  }
}
