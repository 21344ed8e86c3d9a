import type { Body } from './indexer/bodies.ts'
import { contendersOf, names, runCeiling } from './indexer/contenders.ts'
import { feed } from './indexer/feed.ts'
import { type FreshnessSize, freshnessSection, measureFreshness } from './indexer/freshness.ts'
import type { Indexing } from './indexer/indexing.ts'
import type { Counts, Figures, Results, Section } from './report.ts'
import { type Rounds, runRounds } from './rounds.ts'
import type { Stage } from './stage.ts'
import { spreadOf } from './statistics.ts'
import { spreadText } from './table.ts'

type Size = {
  /** What most contenders bring from Kafka in a round. */
  readonly records: number
  /** What they warm up with, what the ceiling is tried with, and all that the slowest one brings in a round. */
  readonly fewRecords: number
  readonly rounds: Rounds
  /** Of each rate of events. */
  readonly freshness: FreshnessSize
}

export const fullSize: Size = {
  records: 300_000,
  fewRecords: 20_000,
  rounds: { warmUps: 1, measured: 3 },
  freshness: { warmUpMs: 5_000, measuredMs: 30_000 },
}

export const smallSize: Size = {
  records: 8_000,
  fewRecords: 2_000,
  rounds: { warmUps: 0, measured: 1 },
  freshness: { warmUpMs: 1_000, measuredMs: 4_000 },
}

const mebibyte = 1_024 ** 2
/** Bulk requests at once that the ceiling is tried with. */
const tried = [2, 3, 4]
const ceiling = { label: 'ready-made bulk', of: names.ceiling }
const peers = [
  { name: names.eachMessage, short: 'eachMessage' },
  { name: names.eachBatch, short: 'eachBatch' },
]

const sections: readonly Section[] = [
  {
    title: 'From Kafka to searchable, beside the same documents ready-made',
    measure: 'records a second',
    rows: [
      { label: `${names.ceiling}: list and detail documents`, of: names.ceiling },
      {
        label: `${names.indexer}: list and detail documents`,
        of: names.indexer,
        to: { ...ceiling, goal: { atLeast: 0.6 } },
      },
      ...peers.map(({ name }) => ({ label: `${name}: one document`, of: name, to: ceiling })),
    ],
  },
  {
    title: 'The indexer beside what one would write instead',
    measure: 'records a second',
    rows: peers.map(({ name, short }) => ({
      label: `indexer, beside ${name}`,
      of: names.indexer,
      to: { label: short, of: name, goal: { atLeast: 1 } },
    })),
  },
  freshnessSection,
]

/** Measures how fast records become searchable, beside other ways to bring them there, and how soon an event is seen in a list. */
export async function benchIndexer(stage: Stage, size: Size): Promise<Results> {
  const { records, fewRecords, rounds } = size
  const bodies = await feed(stage, [records, fewRecords])
  const requestsAtOnce = await chooseRequests(stage, bodies, fewRecords)
  const contenders = contendersOf(stage, bodies, { records, fewRecords, ...rounds }, requestsAtOnce)
  const loads = await runRounds('Running contenders', contenders, rounds)
  const freshness = await measureFreshness(stage, size.freshness)
  return {
    title: 'Indexer: from Kafka to searchable',
    about: `${records.toLocaleString('en')} submissions of 4 KB in Kafka, until Elasticsearch counts every one; the ceiling is a process that only sends the indexer's own documents, rendered beforehand, ${requestsAtOnce} bulk requests at once, and the peers store one document as it came and validate nothing (eachMessage: ${fewRecords.toLocaleString('en')} records).`,
    sections,
    samples: new Map<string, readonly Figures[]>([...loads, ...freshness]),
    counts: [costsOf(loads)],
  }
}

/** How many requests at once are best for the ceiling, after one run to warm up. */
async function chooseRequests(stage: Stage, bodies: readonly Body[], records: number): Promise<number> {
  process.stdout.write('Trying the ceiling\n')
  let best = { atOnce: 1, perSecond: 0 }
  await runCeiling(stage, bodies, records, 1)
  for (const atOnce of tried) {
    const { perSecond } = await runCeiling(stage, bodies, records, atOnce)
    if (perSecond > best.perSecond) best = { atOnce, perSecond }
  }
  return best.atOnce
}

const costsOf = (loads: ReadonlyMap<string, readonly Indexing[]>): Counts => ({
  title: 'What each took',
  header: ['', 'CPU ms a record', "Elasticsearch's", 'resident at most, MiB'],
  rows: [...loads].map(([name, runs]) => {
    const of = (value: (run: Indexing) => number | undefined): string => {
      const told = runs.map(value).filter((each) => each !== undefined)
      return told.length === 0 ? 'not told' : spreadText(spreadOf(told))
    }
    return [
      name,
      of(({ usage, count }) => usage && usage.cpuMs / count),
      of(({ elasticsearchCpuMs, count }) => elasticsearchCpuMs / count),
      of(({ usage }) => usage && usage.peakResidentBytes / mebibyte),
    ]
  }),
})
