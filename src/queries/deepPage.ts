import { toInstant, withinInstants } from '../domain/instant.ts'
import type { Clause } from './clauses.ts'

/** A snapshot of one list. */
export type ListSnapshot = {
  /** Counts by steps of created time within a span, newest first; steps without a row are left out. */
  countByTime(span: TimeSpan | undefined, stepMs: number): Promise<{ startMs: number; count: number }[]>
  /** How many rows each clause finds. */
  countEach(clauses: readonly Clause[]): Promise<number[]>
}

type TimeSpan = { readonly fromMs: number; readonly toMs: number }

/** Where a page begins: so many rows after the newest of those that `clause` finds. */
export type PageStart = { readonly clause: Clause; readonly skip: number }

const dayMs = 86_400_000
/** A year, a day, a minute, a second, a millisecond: few steps of each in the one before it. */
const stepsMs = [365 * dayMs, dayMs, 60_000, 1_000, 1]
/** Rows that Elasticsearch may pass over: about as many as a page holds. */
const maxSkip = 100
/** What an id consists of, highest first, as Elasticsearch sorts it. */
const idCharacters = [...'zyxwvutsrqponmlkjihgfedcba_ZYXWVUTSRQPONMLKJIHGFEDCBA:9876543210.-']

/**
 * Finds the row at `offset` without passing over those before it: counts by year, day, minute and millisecond say in which of
 * them it lies, then counts by the characters of the id. Undefined when the list is shorter; `total` is exact.
 */
export async function findPageStart(
  list: ListSnapshot,
  offset: number,
): Promise<{ readonly total: number; readonly start: PageStart | undefined }> {
  const years = await list.countByTime(undefined, stepsMs[0] ?? dayMs)
  const total = years.reduce((sum, { count }) => sum + count, 0)
  if (offset >= total) return { total, start: undefined }
  let [steps, skip, span] = [years, offset, undefined as TimeSpan | undefined]
  for (const [at, stepMs] of stepsMs.entries()) {
    if (at > 0) steps = await list.countByTime(span, stepMs)
    const found = stepOf(steps, skip)
    skip = found.skip
    span = { fromMs: found.startMs, toMs: found.startMs + stepMs - 1 }
    if (skip <= maxSkip) return { total, start: { clause: createdUpTo(span), skip } }
  }
  const instant = toInstant(span?.fromMs ?? 0)
  return { total, start: await findWithinMoment(list, `${instant}|`, skip) }
}

/** The step that holds the row, and how many rows of it come before. */
function stepOf(
  steps: readonly { startMs: number; count: number }[],
  offset: number,
): { readonly startMs: number; readonly skip: number } {
  let skip = offset
  for (const { startMs, count } of steps) {
    if (skip < count) return { startMs, skip }
    skip -= count
  }
  throw new Error('the counts of a snapshot do not add up')
}

/** Rows of one millisecond are ordered by id: one character more at each turn. */
async function findWithinMoment(list: ListSnapshot, moment: string, offset: number): Promise<PageStart> {
  let [prefix, skip] = [moment, offset]
  for (;;) {
    // An id sorts before all that begin with it, so it comes after them here.
    const clauses = [...idCharacters.map((character) => positionBelow(prefix, character)), positionIs(prefix)]
    const counts = await list.countEach(clauses)
    const at = counts.findIndex((count) => {
      if (skip < count) return true
      skip -= count
      return false
    })
    const character = idCharacters[at]
    if (at === -1) throw new Error('the counts of a snapshot do not add up')
    if (character === undefined) return { clause: positionUpTo(prefix), skip }
    prefix += character
    if (skip <= maxSkip) return { clause: positionUpTo(`${prefix}\u{10ffff}`), skip }
  }
}

const createdUpTo = ({ toMs }: TimeSpan): Clause => ({
  range: { createdAt: { lte: toInstant(withinInstants(toMs)) } },
})
const positionUpTo = (position: string): Clause => ({ range: { position: { lte: position } } })
const positionIs = (position: string): Clause => ({ term: { position } })
const positionBelow = (prefix: string, character: string): Clause => ({ prefix: { position: prefix + character } })
