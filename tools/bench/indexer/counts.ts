import type { Counts } from '../results.ts'
import { spreadOf } from '../statistics.ts'
import { number, spreadText } from '../table.ts'
import { type EventRate, type Freshness, freshnessName } from './freshness.ts'
import type { Load } from './load.ts'
import type { MemoryRun } from './memory.ts'

/** What was measured beside records a second and delays. */
export type Found = {
  readonly loads: ReadonlyMap<string, readonly Load[]>
  readonly memory: readonly MemoryRun[]
  readonly freshness: ReadonlyMap<EventRate, Freshness>
}

const mebibyte = 1_024 ** 2
const notTold = 'not told'

export const countsOf = ({ loads, memory, freshness }: Found): Counts[] => [
  costsOf(loads),
  memoryOf(memory),
  eventsOf(freshness),
]

const costsOf = (loads: ReadonlyMap<string, readonly Load[]>): Counts => ({
  title: 'What each took',
  header: ['', 'records', 'seconds', 'CPU s', 'Elasticsearch CPU s', 'CPU ms a record, both', 'resident at most, MiB'],
  rows: [...loads].map(([name, runs]) => {
    const of = (value: (run: Load) => number | undefined): string => textOf(runs.map(value))
    return [
      name,
      count(runs[0]?.records ?? 0),
      of(({ elapsedMs }) => elapsedMs / 1_000),
      of(({ program }) => program && program.cpuMs / 1_000),
      of(({ elasticsearchCpuMs }) => elasticsearchCpuMs / 1_000),
      of(({ program, elasticsearchCpuMs, records }) => program && (program.cpuMs + elasticsearchCpuMs) / records),
      of(({ program }) => program && program.peakResidentBytes / mebibyte),
    ]
  }),
})

const memoryOf = (runs: readonly MemoryRun[]): Counts => ({
  title: 'Memory of the indexer, run by run',
  header: ['', 'records', 'records/s', 'resident at most, MiB', 'half of the time below, MiB'],
  rows: runs.map(({ maxInFlightMiB, load: { records, elapsedMs, program } }) => [
    `at most ${maxInFlightMiB} MiB under way`,
    count(records),
    number((1_000 * records) / elapsedMs),
    textOf([program && program.peakResidentBytes / mebibyte]),
    textOf([program && program.usualResidentBytes / mebibyte]),
  ]),
})

const eventsOf = (freshness: ReadonlyMap<EventRate, Freshness>): Counts => ({
  title: 'Events while freshness was measured',
  header: ['', 'acknowledged a second', 'waited for', 'not seen', 'polls a second', 'generator busy', 'its CPU'],
  rows: [...freshness].map(([rate, { sample, unseen, pollsPerSecond, cpuShare }]) => [
    freshnessName(rate),
    number(sample.perSecond),
    count(sample.turns),
    count(unseen),
    number(pollsPerSecond),
    `${Math.round(100 * sample.busyShare)} %`,
    `${Math.round(100 * cpuShare)} %`,
  ]),
})

/** The median and both ends, of one value itself. */
function textOf(values: readonly (number | undefined)[]): string {
  const told = values.filter((value) => value !== undefined)
  if (told.length < values.length || told.length === 0) return notTold
  const spread = spreadOf(told)
  return told.length === 1 ? number(spread.median) : spreadText(spread)
}

const count = (value: number): string => value.toLocaleString('en')
