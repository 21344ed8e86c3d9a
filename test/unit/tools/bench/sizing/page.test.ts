import { readFileSync } from 'node:fs'
import { sizesFor } from '../../../../../tools/bench/sizing/arithmetic.ts'
import { readAssumptions, withMeasured, withSizes } from '../../../../../tools/bench/sizing/page.ts'

const page = readFileSync(new URL('../../../../../docs/scale.md', import.meta.url), 'utf8')
const assumed = readAssumptions(page)
const { shards, documents, nodes, kafka, load } = sizesFor(assumed)

test('docs/scale.md says what follows from its assumptions: `npm run sizing` writes it', () => {
  expect(withSizes(page)).toBe(page)
})

test('shards are as many as the mean and the most documents ask for; the fullest is told to be within the bounds or not', () => {
  const sharded = (changed: Partial<typeof assumed>) => sizesFor({ ...assumed, ...changed }).shards
  expect(sharded({ meanShardGigabytes: assumed.meanShardGigabytes / 2 }).count).toBeGreaterThan(1.9 * shards.count)
  expect(sharded({ meanShardGigabytes: 1_000_000 }).count).toBe(assumed.submissions / assumed.maxShardDocuments)
  expect(sharded({ maxShardGigabytes: shards.fullestBytes / 1e9 + 1 }).isFullestWithin).toBe(true)
  expect(sharded({ maxShardGigabytes: shards.fullestBytes / 1e9 - 1 }).isFullestWithin).toBe(false)
})

test('twice the submissions take twice the disk, and no more CPU to read them', () => {
  const twice = sizesFor({ ...assumed, submissions: 2 * assumed.submissions, formsPerTeam: 2 * assumed.formsPerTeam })
  expect(twice.documents.diskBytes).toBeCloseTo(2 * documents.diskBytes, -3)
  expect(twice.kafka.topicBytes).toBeCloseTo(2 * kafka.topicBytes, -3)
  expect(twice.nodes.searchCpus).toBe(nodes.searchCpus)
})

test('twice the teams ask twice as much', () => {
  const twice = sizesFor({ ...assumed, teams: 2 * assumed.teams })
  expect(twice.load.requests).toBe(2 * load.requests)
  expect(twice.kafka.topicBytes).toBe(kafka.topicBytes)
})

test('teams of one size make even shards', () => {
  const even = sizesFor({ ...assumed, skew: 0 }).shards
  expect(even.fullestBytes).toBeLessThan(1.5 * assumed.meanShardGigabytes * 1e9)
  expect(even.largestTeam).toBeCloseTo(assumed.submissions / assumed.teams, -1)
})

test('a page without a number or a place is refused', () => {
  expect(() => readAssumptions(page.replace(/\| teams \| [\d,]+/, '| teams | many'))).toThrow('no number for "teams"')
  expect(() => withSizes(page.replace('<!-- /written -->', ''))).toThrow('no place')
})

test('results take the place of what was measured before, and of nothing else', () => {
  const results = '|  | value |\n| team in Redis    |      1,234 |\n| API, page 1      | 5 |\n'
  const measured = withMeasured(page, results)
  expect(readAssumptions(measured)).toEqual({ ...assumed, teamBytes: 1_234 })
  expect(measured.split('\n')).toHaveLength(page.split('\n').length)
  expect(() => withMeasured(page, '# nothing')).toThrow('nothing for the page')
})
