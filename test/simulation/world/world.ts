import { EventQueue } from '../../../tools/sample/eventQueue.ts'
import { type EngineName, type Host, type Network, NetworkFailure } from '../network.ts'
import { SimulatedProcess } from './process.ts'
import { randomFor } from './randomness.ts'
import { realTurns, runningProcess, runSimulated } from './virtualGlobals.ts'

/** The start of simulated time (epoch ms). */
const startMs = Date.parse('2026-03-01T00:00:00.000Z')
/** A history with more events is considered endless. */
const maxEvents = 400_000

/** Network quality between processes and engines. */
export type Weather = {
  /** The share (0 to 1) of calls whose request or response is lost. */
  readonly lost: number
  /** The share (0 to 1) of calls that take up to some seconds. */
  readonly late: number
}

/** An event at a simulated time (ms). `what`: its line in the trace; undefined for none. */
type Event = {
  readonly atMs: number
  readonly what: string | undefined
  readonly owner: object | undefined
  readonly act: () => unknown
  isCancelled: boolean
}

/** A broken invariant. */
export class Violation extends Error {
  override readonly name = 'Violation'
  readonly invariant: string

  constructor(invariant: string, details: string) {
    super(`${invariant}: ${details}`)
    this.invariant = invariant
  }
}

/**
 * Simulated time, and its events, one after the other: timers of processes, requests that reach engines, responses that come back.
 * Deterministic for a seed.
 */
export class World {
  readonly seed: number
  readonly #queue = new EventQueue<Event>()
  readonly #trace: string[] = []
  /** `<engine>`, or `<process> <engine>`, such as `indexer-1 kafka` → end of an outage (ms). */
  readonly #outages = new Map<string, number>()
  /** `<process> <engine>` → until when its calls are slow (ms). */
  readonly #slow = new Map<string, number>()
  /** `<process> <engine>` → the share of calls refused, and until when. */
  readonly #refused = new Map<string, { readonly share: number; readonly untilMs: number }>()
  #weather: Weather = { lost: 0, late: 0 }
  #nowMs = startMs
  #violation: unknown
  /** Called after an engine has carried out a request. */
  afterCall: (engine: EngineName, what: string, caller: SimulatedProcess) => void = () => undefined

  constructor(seed: number) {
    this.seed = seed
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** The lines of the trace. */
  get trace(): readonly string[] {
    return this.#trace
  }

  note(what: string): void {
    this.#trace.push(`${((this.#nowMs - startMs) / 1_000).toFixed(4).padStart(9)} ${what}`)
  }

  /** Ends the history with a violation. */
  fail(violation: unknown): void {
    this.#violation ??= violation
  }

  /** Schedules an event; returns a cancel function. Events of ended processes are dropped. */
  schedule(
    delayMs: number,
    what: string | undefined,
    owner: SimulatedProcess | undefined,
    act: () => unknown,
  ): () => void {
    const atMs = this.#nowMs + Math.max(0, delayMs)
    const event: Event = { atMs, what, owner, act, isCancelled: false }
    this.#queue.add(event)
    return () => {
      event.isCancelled = true
    }
  }

  /** Runs events until `until` resolves; rejects with a violation, or as `until` does. */
  async run<T>(until: Promise<T>): Promise<T> {
    let isOver = false
    const over = (): void => {
      isOver = true
    }
    until.then(over, over)
    let count = 0
    await realTurns(() => {
      if (this.#violation !== undefined) throw this.#violation
      if (isOver) return false
      if (++count > maxEvents) throw new Violation('the simulation ends', `it has had ${maxEvents} events`)
      const event = this.#next()
      if (event === undefined) throw new Violation('the simulation ends', 'nothing is left that could happen')
      this.#happen(event)
      return true
    })
    return await until
  }

  #next(): Event | undefined {
    for (;;) {
      const event = this.#queue.take()
      if (event === undefined || !event.isCancelled) return event
    }
  }

  #happen({ atMs, what, owner, act }: Event): void {
    this.#nowMs = Math.max(this.#nowMs, atMs)
    const process = owner as SimulatedProcess | undefined
    if (process !== undefined && process.frozenUntilMs > this.#nowMs) {
      this.schedule(process.frozenUntilMs - this.#nowMs, what, process, act)
      return
    }
    if (process?.hasEnded) return
    if (what !== undefined) this.note(what)
    try {
      if (process === undefined) act()
      else runSimulated(process, act)
    } catch (error) {
      this.fail(error)
    }
  }

  setWeather(weather: Weather): void {
    this.#weather = weather
  }

  /** For `forMs`, drops all calls to an engine, or those of one process. */
  cutOff(engine: EngineName, process: SimulatedProcess | undefined, forMs: number): void {
    const name = process === undefined ? engine : `${process.name} ${engine}`
    this.#outages.set(name, Math.max(this.#outages.get(name) ?? 0, this.#nowMs + forMs))
  }

  /** For `forMs`, delays requests of a process to an engine, and their responses. */
  slowDown(engine: EngineName, process: SimulatedProcess | undefined, forMs: number): void {
    if (process !== undefined) this.#slow.set(`${process.name} ${engine}`, this.#nowMs + forMs)
  }

  /** For `forMs`, an engine refuses a random share of the calls of a process, so that any step of a sequence may fail alone. */
  refuseCalls(engine: EngineName, process: SimulatedProcess | undefined, share: number, forMs: number): void {
    if (process !== undefined) this.#refused.set(`${process.name} ${engine}`, { share, untilMs: this.#nowMs + forMs })
  }

  endOutages(): void {
    this.#outages.clear()
    this.#slow.clear()
    this.#refused.clear()
    this.#weather = { lost: 0, late: 0 }
  }

  #isCutOff(engine: EngineName, process: SimulatedProcess): boolean {
    const untilMs = Math.max(this.#outages.get(engine) ?? 0, this.#outages.get(`${process.name} ${engine}`) ?? 0)
    return untilMs > this.#nowMs
  }

  #refuse(engine: EngineName, process: SimulatedProcess): void {
    const name = `${process.name} ${engine}`
    const { share, untilMs } = this.#refused.get(name) ?? { share: 0, untilMs: 0 }
    if (untilMs > this.#nowMs && process.randomOfCallsTo(engine).chance(share))
      throw new NetworkFailure('refused', name)
  }

  /** The host of an engine whose clock is ahead by `clockOffsetMs()`. */
  host(engine: EngineName, clockOffsetMs: () => number): Host {
    const random = randomFor(this.seed, `host ${engine}`)
    return {
      nowMs: () => Math.floor(this.#nowMs + clockOffsetMs()),
      random: random.next,
      pause: (what) =>
        new Promise((resolve) => {
          this.schedule(
            random.chance(0.1) ? random.next() * 200 : random.next() * 3,
            `${engine}: ${what}`,
            undefined,
            resolve,
          )
        }),
      after: (delayMs, what, act) => this.schedule(delayMs, `${engine}: ${what}`, undefined, act),
    }
  }

  readonly network: Network = {
    call: (engine, what, work, { timeoutMs, signal } = {}) =>
      new Promise((resolve, reject) => {
        const process = callingProcess()
        const random = process.randomOfCallsTo(engine)
        const name = `${process.name} → ${engine} ${what}`
        let isSettled = false
        const settle = (act: () => void): void => {
          if (isSettled) return
          isSettled = true
          cancelTimeout()
          signal?.removeEventListener('abort', onAbort)
          act()
        }
        const onAbort = (): void => settle(() => reject(signal?.reason))
        const cancelTimeout =
          timeoutMs === undefined
            ? () => undefined
            : this.schedule(timeoutMs, undefined, process, () =>
                settle(() => {
                  this.note(`${name}: timed out`)
                  reject(new NetworkFailure('timeout', name))
                }),
              )
        if (signal?.aborted) {
          onAbort()
          return
        }
        signal?.addEventListener('abort', onAbort, { once: true })
        // Either silence or a closed connection. Silence is rare for Elasticsearch, whose timeout is up to a minute.
        const isSilent = (): boolean => random.chance(engine === 'elasticsearch' ? 0.1 : 0.5)
        const answer = (act: () => void, outcome: string): void => {
          if (random.chance(this.#weather.lost)) {
            this.note(`${name}: the answer is lost`)
            if (isSilent()) return
            act = () => reject(new NetworkFailure('unreachable', name))
          }
          this.schedule(this.#delayMs(engine, process), `${name}: ${outcome}`, process, () => settle(act))
        }
        const isLost = random.chance(this.#weather.lost)
        this.schedule(this.#delayMs(engine, process), name, undefined, async () => {
          if (isLost || this.#isCutOff(engine, process)) {
            this.note(`${name}: does not arrive`)
            if (!isSilent()) answer(() => reject(new NetworkFailure('unreachable', name)), 'connection refused')
            return
          }
          try {
            this.#refuse(engine, process)
            const result = await work()
            this.#check(engine, what, process)
            answer(() => resolve(result), 'answered')
          } catch (error) {
            answer(
              () => reject(error as Error),
              `refused: ${error instanceof Error ? error.message.slice(0, 120) : ''}`,
            )
          }
        })
      }),
  }

  #check(engine: EngineName, what: string, caller: SimulatedProcess): void {
    try {
      this.afterCall(engine, what, caller)
    } catch (violation) {
      this.fail(violation)
    }
  }

  #delayMs(engine: EngineName, process: SimulatedProcess): number {
    const random = process.randomOfCallsTo(engine)
    const isSlow = (this.#slow.get(`${process.name} ${engine}`) ?? 0) > this.#nowMs
    if (isSlow && random.chance(0.5)) return 100 + random.next() * 1_400
    if (random.chance(this.#weather.late)) return random.next() * 4_000
    return random.chance(0.05) ? random.next() * 60 : 0.1 + random.next() * 2
  }
}

function callingProcess(): SimulatedProcess {
  const process = runningProcess()
  if (!(process instanceof SimulatedProcess)) throw new Error('an engine is called outside of a simulated process')
  return process
}
