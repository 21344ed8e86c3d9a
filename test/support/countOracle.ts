import { localClock, startsBetween, type TimeUnit } from './localClock.ts'
import type { StoredEntity } from './queryData.ts'
import { answersTo, askedMembers, type Entry, expectedEntries, type ListQuery } from './queryOracle.ts'
import type { Json } from './randomHistory.ts'

type Value = string | null
type Item = { readonly key: Value | readonly [string, Value]; readonly count: number; readonly scores?: object }

export type ExpectedCounts = { readonly totalDocs: number; readonly by: string; readonly items: readonly Item[] }

/** The expected answer of `/record-counts`, filtered and counted by simple rules. Undefined for an invalid date. */
export function expectedCounts(
  stored: readonly StoredEntity[],
  team: string,
  parameters: Readonly<Record<string, string>>,
  answers: NonNullable<ListQuery['answers']> = [],
): ExpectedCounts | undefined {
  const { by = '', timeZone = 'UTC', code = '', scores } = parameters
  const entries = expectedEntries(stored, { list: 'records', team, parameters, answers })
  if (entries === undefined) return undefined
  const itemOf = (key: Item['key'], counted: readonly Entry[]): Item => ({
    ...{ key, count: counted.length },
    ...(scores === 'true' && { scores: scoresOf(counted) }),
  })
  const units = ['hour', 'day', 'month']
  const [unit, name] = units.includes(by) ? [by] : by.includes(',') ? by.split(',') : [undefined, by]
  const ofUnits = unit === undefined ? [] : byTime(entries, unit as TimeUnit, timeZone, name === undefined)
  const ofValues = (counted: readonly Entry[]) => byValue(counted, (entity) => valuesOf(entity, name ?? '', code))
  const items =
    name === undefined
      ? ofUnits.map(([key, counted]) => itemOf(key, counted))
      : unit === undefined
        ? ofValues(entries).map(([key, counted]) => itemOf(key, counted))
        : ofUnits.flatMap(([start, counted]) =>
            ofValues(counted).map(([key, its]) => itemOf([start, key] as const, its)),
          )
  return { totalDocs: entries.length, by, items }
}

/** The values by which a submission is counted, `null` if it has none. */
function valuesOf(entity: Json, name: string, code: string): readonly Value[] {
  if (name === 'form') return [entity.formId]
  if (name === 'status') return [entity.result.status]
  const served =
    name === 'answer' ? answersTo(code, entity) : [askedMembers[name === 'outcome' ? 'outcomeCode' : name]?.(entity)]
  const values = served.filter((value) => typeof value === 'string' && value.length <= 256) as string[]
  return values.length === 0 ? [null] : [...new Set(values)]
}

/** Entries by value, the most frequent first, then in the order of the bytes of the values; those without one last. */
function byValue(entries: readonly Entry[], read: (entity: Json) => readonly Value[]): [Value, Entry[]][] {
  const groups = new Map<Value, Entry[]>()
  for (const entry of entries)
    for (const value of read(entry.entity)) groups.set(value, [...(groups.get(value) ?? []), entry])
  const later = (a: Value, b: Value): number =>
    a === null ? 1 : b === null ? -1 : Buffer.compare(Buffer.from(a), Buffer.from(b))
  return [...groups].sort(([a, ofA], [b, ofB]) => ofB.length - ofA.length || later(a, b))
}

/** Scores of multiples of 1/8 are added and divided without rounding but the last one. */
function scoresOf(entries: readonly Entry[]): object {
  const scores = entries
    .map(({ entity }) => entity.result.score)
    .filter((score) => typeof score === 'number') as number[]
  if (scores.length === 0) return { count: 0, min: null, max: null, mean: null }
  const isLarge = scores.some((score) => Math.abs(score) >= 2 ** 48)
  const mean = isLarge ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length
  return { count: scores.length, min: Math.min(...scores), max: Math.max(...scores), mean }
}

/** Entries by hour, day or month, also the empty ones between them if `isGapless`. */
function byTime(entries: readonly Entry[], unit: TimeUnit, timeZone: string, isGapless: boolean): [string, Entry[]][] {
  if (entries.length === 0) return []
  const clock = localClock(timeZone)
  const startsMs = entries.map(({ createdMs }) => clock.startOf(unit, createdMs))
  const [firstMs, lastMs] = [Math.min(...startsMs), Math.max(...startsMs)]
  const starts = isGapless ? startsBetween(clock, unit, firstMs, lastMs) : [...new Set(startsMs)].sort((a, b) => a - b)
  const units = new Map<number, Entry[]>([...starts].map((startMs) => [startMs, []]))
  for (const [at, entry] of entries.entries()) units.get(startsMs[at] ?? 0)?.push(entry)
  return [...units].map(([startMs, counted]) => [clock.read(startMs), counted])
}
