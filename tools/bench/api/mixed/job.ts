import type { HttpRequest } from '../../load/job.ts'
import type { PollingTeam, PollKind } from './script.ts'

/** Asked at a small pace beside the polling teams; the requests of one turn together, over as many connections. */
export type Probe = { readonly name: string; readonly origin: string; readonly requests: readonly HttpRequest[] }

/** Who asks, for as long as the thread lives: connections are kept, and what was answered is known from one job to the next. */
export type Pollers = {
  readonly origin: string
  readonly teams: readonly PollingTeam[]
  readonly probes: readonly Probe[]
}

export type MixedJob = {
  /** Of all teams together; 0 leaves the probes alone. */
  readonly requestsPerSecond: number
  /** What is asked first is answered, but its time is not counted. */
  readonly leadInMs: number
  readonly measuredMs: number
}

/** An answer 304, whatever was asked, is a kind of its own. */
export const unchanged = '304, not changed'
export type AnswerKind = PollKind | typeof unchanged

export type MixedOutcome = {
  /** By kind of answer, or by name of a probe. */
  readonly latenciesMs: ReadonlyMap<string, readonly number[]>
  readonly elapsedMs: number
  /** How much of that time the thread was at work, 0 to 1, and by how much it was late at most in 99 of 100 cases. */
  readonly busyShare: number
  readonly lateMs: number
  /** Requests of the teams, the lead-in too; how many named an ETag, and how many were answered 304. */
  readonly asked: number
  readonly conditional: number
  readonly unchanged: number
  /** Whatever was answered with anything but 200 and 304, or not at all, by what it was. */
  readonly failures: Readonly<Record<string, number>>
}
