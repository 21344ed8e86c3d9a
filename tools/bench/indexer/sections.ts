import type { Figures, Row, Section } from '../report.ts'
import { names } from './contenders.ts'
import { type EventRate, freshnessName, judgedRate } from './freshness.ts'
import type { Built } from './goPipeline.ts'
import type { Load } from './load.ts'

const ceiling = { label: 'ready-made bulk', of: names.ceiling }
const ceilingGoal = { atLeast: 0.6 }
export const stretch = 0.7
const targets = { p50Ms: 400, p99Ms: 1_000 }

/** Every contender beside the ceiling, and the indexer beside each of the others. */
export function loadSections(go: Built): Section[] {
  const peers = [
    { name: names.eachMessage, short: 'eachMessage' },
    { name: names.eachBatch, short: 'eachBatch' },
    ...('program' in go ? [{ name: names.go, short: 'franz-go' }] : []),
  ]
  const besidePeer = ({ name, short }: (typeof peers)[number]): Row => ({
    label: `indexer, beside ${name}`,
    of: names.indexer,
    // The one in Go is for comparison: no target speaks of it.
    to: { label: short, of: name, ...(name === names.go ? {} : { goal: { atLeast: 1 } }) },
  })
  return [
    {
      title: 'From Kafka to searchable, beside the same documents ready-made',
      measure: 'records',
      rows: [
        { label: `${names.ceiling}: list and detail documents`, of: names.ceiling },
        {
          label: `${names.indexer}: list and detail documents`,
          of: names.indexer,
          to: { ...ceiling, goal: ceilingGoal },
        },
        ...peers.map(({ name }) => ({ label: `${name}: one document`, of: name, to: ceiling })),
      ],
      unmeasured: 'missing' in go ? [`${names.go}: not measured: ${go.missing}`] : [],
    },
    {
      title: 'The indexer beside what one would write instead',
      measure: 'records',
      rows: peers.map(besidePeer),
    },
  ]
}

export const freshnessSection = (rates: readonly EventRate[]): Section => ({
  title: 'From acknowledged by Kafka to seen in a list of the API',
  measure: 'latency',
  rows: rates.map((rate) => ({
    label: freshnessName(rate),
    of: freshnessName(rate),
    ...(rate === judgedRate && { within: targets }),
  })),
})

export const figuresOf = ({ records, elapsedMs }: Load): Figures => ({
  perSecond: (1_000 * records) / elapsedMs,
  turns: records,
})
