import '../../../docs/scale/inputs.js'
import '../../../docs/scale/scale.js'
import fc from 'fast-check'
import type { Numbers } from '../../../docs/scale/inputs.js'
import { seeded } from '../../support/random.ts'

const { assumptions, costs, machines, numbersOf } = globalThis.tidemarkInputs
const { rowsOf, sumOverRanks, textOf } = globalThis.tidemarkScale
const rows = Object.values(rowsOf({ members: 4, shares: 4 })).flat()

function amountOf(name: string, numbers: Numbers): number {
  const row = rows.find((one) => one.name === name)
  if (row === undefined) throw new Error(`no row ${name}`)
  return row.of(numbers)
}

/** Numbers that a user may put in. */
const numbersOfUsers: fc.Arbitrary<Numbers> = fc
  .record({
    submissions: fc.double({ min: 1_000, max: 1e10, noNaN: true }),
    machine: fc.nat(machines.length - 1),
    factors: fc.array(fc.double({ min: 0.2, max: 5, noNaN: true }), { minLength: 40, maxLength: 40 }),
  })
  .map(({ submissions, machine, factors }) => {
    const numbers = numbersOf(submissions, machine)
    const ids = [...Object.keys(assumptions), ...Object.keys(costs)] as (keyof Numbers)[]
    for (const [at, id] of ids.entries()) {
      const { min = 0, max = 1e12 } = (assumptions as Record<string, { min?: number; max?: number }>)[id] ?? {}
      numbers[id] = Math.min(max, Math.max(min, numbers[id] * (factors[at] ?? 1)))
    }
    return numbers
  })

test.each([
  // 10 million × (811 + 965 + 2,110 × 200 ÷ 100,000) × 2
  ['documents', 10e6, 35.6e9],
  ['disks of the data nodes', 1_000e6, 8_901e9],
  ['`INDEX_SHARDS`', 100e6, 5],
  ['`INDEX_SHARDS`', 1_000e6, 49],
  ['largest team, submissions', 100_000, 100_000],
  ['changes a second', 1_000e6, 173.6],
  ['pages a second', 1_000e6, 600],
  // 600 × 1.57 ms
  ['vCPU for searching', 1_000e6, 0.942],
  ['partitions', 10e6, 4],
  // 20 million ÷ (11,300 × 4) + 10 million ÷ 15,000
  ['rebuild, 4 members', 10e6, 1_109],
  // 2,000 million ÷ (11,300 × 2)
  ['lost indices built anew', 1_000e6, 88_496],
  ['verification, 2 shares', 242_000, 50],
])('%s of %d submissions', (name, submissions, expected) => {
  expect(amountOf(name, numbersOf(submissions, 0)) / expected).toBeCloseTo(1, 3)
})

test('the sum over ranks is that of all terms', () => {
  for (const skew of [0, 0.8, 1, 1.3])
    for (const count of [1, 2, 999, 1_000, 1_001, 50_000]) {
      const sum = Array.from({ length: count }, (_, at) => (at + 1) ** -skew).reduce((a, b) => a + b, 0)
      expect(sumOverRanks(count, skew) / sum).toBeCloseTo(1, 5)
    }
})

test('the fullest shard is about that of teams that lie at random', () => {
  const numbers = numbersOf(1_000e6, 0)
  const sum = sumOverRanks(10_000, numbers.skew)
  const random = seeded(1)
  const placements = Array.from({ length: 25 }, () => {
    const shards = new Float64Array(49)
    for (let rank = 1; rank <= 10_000; rank++) {
      const at = random.below(49)
      shards[at] = (shards[at] ?? 0) + (1e9 * rank ** -numbers.skew * numbers.detailBytes) / sum
    }
    return Math.max(...shards)
  })
  const median = placements.toSorted((a, b) => a - b)[12] ?? 0
  expect(Math.abs(amountOf('fullest shard', numbers) / median - 1)).toBeLessThan(0.1)
})

test('every row is a finite number for all that a user may put in', () => {
  fc.assert(
    fc.property(numbersOfUsers, (numbers) => {
      expect(
        rows.filter(({ of }) => !(of(numbers) >= 0 && Number.isFinite(of(numbers)))).map(({ name }) => name),
      ).toEqual([])
    }),
  )
})

const growing = rows
  .map(({ name }) => name)
  .filter((name) => !/shard|indexable|[24] members|lost|[24] shares/.test(name))
const durations = rows.filter(({ kind }) => kind === 'seconds').map(({ name }) => name)

test.each<[keyof Numbers, 1 | -1, readonly string[]]>([
  ['submissions', 1, [...growing, '`INDEX_SHARDS`']],
  ['replicas', 1, ['documents', 'disks of the data nodes', 'page cache', 'vCPU for changes', 'data nodes']],
  ['listBytes', 1, ['documents', 'disks of the data nodes', '`INDEX_SHARDS`', 'page cache', 'data nodes']],
  [
    'keysPerTeam',
    1,
    ['requests a second', 'vCPU for searching', 'data nodes', 'API processes', 'Redis', 'network, a second'],
  ],
  ['pollSeconds', -1, ['requests a second', 'pages a second', 'vCPU for searching', 'data nodes', 'API processes']],
  ['skew', 1, ['largest team, submissions', 'fullest shard', 'largest team exported']],
  ['nodeVcpu', -1, ['data nodes']],
  ['nodeDiskTb', -1, ['data nodes']],
  ['usedDiskPercent', -1, ['disks of the data nodes', 'data nodes']],
  ['recordBytes', 1, ['submissions topic', 'partitions', 'network, a second']],
  ['recordsPerSubmission', 1, ['submissions topic', 'partitions', 'rebuild, 1 member']],
  ['comparedPerSecond', -1, durations],
  ['verifiedPerSecond', -1, durations],
  ['exportedPerSecond', -1, durations],
])('when %s grows, the direction is %d', (id, direction, names) => {
  fc.assert(
    fc.property(numbersOfUsers, fc.double({ min: 1, max: 10, noNaN: true }), (numbers, factor) => {
      const { max = 1e12 } = (assumptions as Record<string, { max?: number }>)[id] ?? {}
      const grown = { ...numbers, [id]: Math.min(max, numbers[id] * factor) }
      const wrong = names.filter((name) => {
        const [before, after] = [amountOf(name, numbers), amountOf(name, grown)]
        return (after - before) * direction < -1e-9 * before
      })
      expect(wrong).toEqual([])
    }),
  )
})

test('more members and shares never take longer; members gain until Elasticsearch has no CPU left', () => {
  fc.assert(
    fc.property(numbersOfUsers, (numbers) => {
      const seconds = [1, 2, 4, 64].map((count) => {
        const { Duration = [] } = rowsOf({ members: count, shares: count })
        const last = (pattern: RegExp): number =>
          Duration.findLast(({ name }) => pattern.test(name))?.of(numbers) ?? Number.NaN
        return { rebuild: last(/^rebuild/), verify: last(/^verification/) }
      })
      const least = (numbers.submissions * numbers.recordsPerSubmission) / amountOf('indexable a second', numbers)
      for (const [at, { rebuild, verify }] of seconds.entries()) {
        expect(rebuild).toBeLessThanOrEqual(seconds[at - 1]?.rebuild ?? Number.POSITIVE_INFINITY)
        expect(verify).toBeLessThanOrEqual(seconds[at - 1]?.verify ?? Number.POSITIVE_INFINITY)
        expect(rebuild - numbers.submissions / numbers.comparedPerSecond).toBeGreaterThanOrEqual(least * (1 - 1e-6))
      }
    }),
  )
  const small = numbersOf(1_000e6, 0, { nodeVcpu: 1, usedVcpuPercent: 100 })
  const [four, many] = [4, 62].map((members) =>
    rowsOf({ members, shares: 1 })
      ['Duration']?.findLast(({ name }) => name.startsWith('rebuild'))
      ?.of(small),
  )
  expect(four).toBe(many)
})

test.each([
  ['bytes', [35.6e9], '36 GB'],
  ['bytes', [0], '0'],
  ['bytes', [999.6e9, 3.56e12], '1 to 3.6 TB'],
  ['seconds', [2_437, 6_206], '0.7 to 1.7 h'],
  ['seconds', [40, 125], '0.7 to 2.1 min'],
  ['seconds', [3_000], '50 min'],
  ['number', [2, 2.04], '2'],
  ['number', [0.01, 0.02], 'below 0.1'],
  ['number', [0.01, 0.1], 'up to 0.1'],
  ['number', [1e9], '1,000 million'],
  ['number', [344_321], '344,000'],
] as const)('%s %j are written as %s', (kind, values, text) => {
  expect(textOf(kind, values)).toBe(text)
})
