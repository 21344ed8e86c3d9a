import { localClock, startsBetween, type TimeUnit } from './localClock.ts'
import type { Held } from './queryData.ts'
import { expectedEntries } from './queryOracle.ts'

type Item = { readonly key: string; readonly count: number }

export type ExpectedCounts = {
  readonly totalDocs: number
  readonly by: string
  readonly items: readonly Item[]
}

/** The expected answer of `/record-counts`, filtered and counted by simple rules. Undefined for an invalid date. */
export function expectedCounts(
  held: readonly Held[],
  team: string,
  parameters: Readonly<Record<string, string>>,
): ExpectedCounts | undefined {
  const { by = '', timeZone = 'UTC' } = parameters
  const entries = expectedEntries(held, { list: 'records', team, parameters })
  if (entries === undefined) return undefined
  const items =
    by === 'form' || by === 'status'
      ? countValues(entries.map(({ entity }) => (by === 'form' ? entity.formId : entity.result.status)))
      : countTimes(
          entries.map(({ createdMs }) => createdMs),
          by as TimeUnit,
          timeZone,
        )
  return { totalDocs: entries.length, by, items }
}

function countValues(values: readonly string[]): Item[] {
  return [...new Set(values)]
    .map((key) => ({ key, count: values.filter((value) => value === key).length }))
    .sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1))
}

function countTimes(timesMs: readonly number[], unit: TimeUnit, timeZone: string): Item[] {
  if (timesMs.length === 0) return []
  const clock = localClock(timeZone)
  const startsMs = timesMs.map((timeMs) => clock.startOf(unit, timeMs))
  const counts = new Map<number, number>()
  for (const startMs of startsBetween(clock, unit, Math.min(...startsMs), Math.max(...startsMs))) counts.set(startMs, 0)
  for (const startMs of startsMs) counts.set(startMs, (counts.get(startMs) ?? 0) + 1)
  return [...counts].map(([startMs, count]) => ({ key: clock.read(startMs), count }))
}
