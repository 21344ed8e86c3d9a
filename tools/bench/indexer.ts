import { runRounds } from './comparison.ts'
import { bulksAtOnce, contendersOf, names } from './indexer/contenders.ts'
import { feed } from './indexer/feed.ts'
import { freshnessSection, measureFreshness } from './indexer/freshness.ts'
import type { Indexing } from './indexer/indexing.ts'
import { measureUpkeep } from './indexer/upkeep.ts'
import { spreadText } from './page.ts'
import { type Counts, type Figures, type Results, type Section, spreadOf } from './report.ts'
import type { Stage } from './stage.ts'

type Size = Readonly<typeof fullSize>

export const fullSize = {
  records: 300_000,
  fewRecords: 20_000,
  rounds: { warmUps: 1, measured: 3 },
  freshnessMs: 30_000,
}

export const smallSize: Size = {
  records: 8_000,
  fewRecords: 2_000,
  rounds: { warmUps: 0, measured: 1 },
  freshnessMs: 4_000,
}

const mebibyte = 1_024 ** 2

const sections: readonly Section[] = [
  {
    title: 'From Kafka to searchable, beside the same documents ready-made',
    measure: 'records a second',
    rows: [
      { label: names.ceiling, of: names.ceiling },
      {
        label: names.indexer,
        of: names.indexer,
        to: { label: names.ceiling, of: names.ceiling, goal: { atLeast: 0.6 } },
      },
      {
        label: names.withoutAnswers,
        of: names.withoutAnswers,
        to: { label: names.indexer, of: names.indexer },
      },
    ],
  },
  freshnessSection,
]

/**
 * How fast records become searchable, beside the same documents ready-made; how soon a client that follows a team sees an event; and the commands
 * that read all documents.
 */
export async function benchIndexer(stage: Stage, size: Size): Promise<Results> {
  const { records, fewRecords, rounds } = size
  const bodies = await feed(stage, [records, fewRecords])
  const contenders = contendersOf(stage, bodies, { records, fewRecords, ...rounds })
  const loads = await runRounds('Running contenders', contenders, rounds)
  const freshness = await measureFreshness(stage, size.freshnessMs)
  const upkeep = await measureUpkeep(stage, records)
  return {
    title: 'Indexer: from Kafka to searchable',
    about: `${records.toLocaleString('en')} submissions of 4 KB in Kafka, until Elasticsearch counts every one. "Ready-made bulk", the ceiling, only sends the indexer's documents, rendered beforehand, ${bulksAtOnce} bulk requests at once.`,
    sections,
    samples: new Map<string, readonly Figures[]>([...loads, ...freshness]),
    counts: [costsOf(loads), upkeep],
    compared: ['From '],
  }
}

const costsOf = (loads: ReadonlyMap<string, readonly Indexing[]>): Counts => ({
  title: 'What each took',
  header: ['', 'CPU ms a record', "Elasticsearch's", 'resident at most, MiB'],
  rows: [...loads].map(([name, runs]) => {
    const of = (value: (run: Indexing) => number | undefined): string => {
      const known = runs.map(value).filter((figure) => figure !== undefined)
      return known.length === 0 ? 'not told' : spreadText(spreadOf(known))
    }
    return [
      name,
      of(({ usage, count }) => usage && usage.cpuMs / count),
      of(({ elasticsearchCpuMs, count }) => elasticsearchCpuMs && elasticsearchCpuMs / count),
      of(({ usage }) => usage && usage.peakResidentBytes / mebibyte),
    ]
  }),
})
