import { freshnessName } from '../../../../../tools/bench/indexer/freshness.ts'
import { figuresOf, freshnessSection, loadSections } from '../../../../../tools/bench/indexer/sections.ts'
import { verdictsOf } from '../../../../../tools/bench/report.ts'
import { renderGoals, renderTable } from '../../../../../tools/bench/table.ts'

const load = (seconds: number) => figuresOf({ records: 6_000, elapsedMs: 1_000 * seconds, elasticsearchCpuMs: 0 })
const samples = new Map([
  ['ready-made bulk', [load(1)]],
  ['indexer', [load(2)]],
  ['KafkaJS eachMessage, index', [load(10)]],
  ['KafkaJS eachBatch, helpers.bulk', [load(1.5)]],
  ['franz-go, BulkIndexer', [load(1)]],
])

test('the indexer is judged beside the ceiling and beside what is written for KafkaJS, not beside Go', () => {
  const lines = renderGoals(verdictsOf(loadSections({ program: '/go' }), samples))
    .trimEnd()
    .split('\n')
  expect(lines.map((line) => line.split(':')[0])).toEqual(['- **missed**', '- met', '- **missed**'])
  expect(lines[0]).toContain('0.500 × ready-made bulk, target ≥ 0.6')
  expect(lines[2]).toContain('0.750 × eachBatch, target ≥ 1')
})

test('without Go its row says so, and nothing is compared with it', () => {
  const table = renderTable(loadSections({ missing: 'Go is not installed' }), samples)
  expect(table).toContain('| franz-go, BulkIndexer: not measured: Go is not installed |')
  expect(table.match(/franz-go/g)).toHaveLength(1)
})

test('only 100 events a second have targets', () => {
  const delays = new Map(
    ([10, 100, 1_000] as const).map((rate) => [
      freshnessName(rate),
      [{ perSecond: rate, turns: 9, p50Ms: 300, p99Ms: 900 }],
    ]),
  )
  const figure = 'From acknowledged by Kafka to seen in a list of the API: 100 events/s'
  expect(renderGoals(verdictsOf([freshnessSection([10, 100, 1_000])], delays))).toBe(
    `- met: ${figure}, p50: 300 ms, target ≤ 400\n- met: ${figure}, p99: 900 ms, target ≤ 1000\n`,
  )
})
