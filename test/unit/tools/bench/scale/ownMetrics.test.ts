import { sumOf } from '../../../../../tools/bench/scale/ownMetrics.ts'

const text = `# HELP tidemark_records_total records settled
# TYPE tidemark_records_total counter
tidemark_records_total{topic="forms",outcome="indexed"} 3
tidemark_records_total{topic="submissions",outcome="stale"} 4
tidemark_records_totally 100
process_cpu_seconds_total 1.5
`

test('a metric is summed over its labels, and one that is not there is 0', () => {
  expect(sumOf(text, 'tidemark_records_total')).toBe(7)
  expect(sumOf(text, 'process_cpu_seconds_total')).toBe(1.5)
  expect(sumOf(text, 'process_resident_memory_bytes')).toBe(0)
})
