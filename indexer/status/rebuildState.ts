import type { ReportedRebuild } from '../../src/core/redis/rebuildProgress.ts'
import type { Answer } from './observe.ts'
import type { GroupSurvey } from './surveyGroup.ts'

/**
 * - `running`: a process has stored its progress of late, or reads the topics. `helpers`: the members beside it;
 * - `left`: a rebuild was killed, or has failed, and its generation is unfinished.
 *
 * `readShare`: the part of the records that the new generation has, 0 to 1. `report`: what the rebuild has stored last; undefined if that is lost or too old.
 */
export type RebuildState =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'running' | 'left'
      readonly readShare: number
      readonly helpers: number
      readonly report: ReportedRebuild | undefined
    }

/** Several times the interval (ms) of reports. */
const aliveMs = 15_000

/** `own`: the number of the generation that this indexer writes. Undefined while nothing is known. */
export function rebuildStateOf(
  group: Answer<Pick<GroupSurvey, 'rebuild'>> | undefined,
  reported: Answer<{ readonly progress: ReportedRebuild | undefined }> | undefined,
  own: number | undefined,
  nowMs: number,
): RebuildState | undefined {
  const progress = reported?.value.progress
  const report = progress && { ...progress, ageMs: progress.ageMs + Math.max(0, nowMs - (reported?.atMs ?? nowMs)) }
  const survey = group?.value.rebuild
  const [readShare, members] = [survey?.progress ?? 0, survey?.members ?? 0]
  const isAlive = report !== undefined && report.ageMs < aliveMs
  if (isAlive || survey?.isRunning === true)
    return { kind: 'running', readShare, helpers: Math.max(0, members - 1), report }
  if (group === undefined) return undefined
  // A rebuild that died before it made a generation, or after this generation served, has left nothing to continue.
  const isUnfinished = report !== undefined && report.phase !== 'prepare' && (report.generation ?? 0) > (own ?? 0)
  return survey === undefined && !isUnfinished ? { kind: 'none' } : { kind: 'left', readShare, helpers: 0, report }
}
