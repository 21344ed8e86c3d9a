import fc from 'fast-check'
import { isIdentifier } from '../../../../src/core/model/ids.ts'
import { entityId, seededRandom, token } from '../../../../tools/demo/random.ts'

const drawn = (seed: string): number[] => {
  const random = seededRandom(seed)
  return Array.from({ length: 50 }, () => random.float())
}

test('a seed gives the same numbers each time, from 0 up to 1', () => {
  fc.assert(
    fc.property(fc.string(), (seed) => {
      expect(drawn(seed)).toEqual(drawn(seed))
      expect(drawn(seed).every((number) => number >= 0 && number < 1)).toBe(true)
    }),
  )
})

test('seeds that differ little give unrelated numbers', () => {
  const firsts = Array.from({ length: 1_000 }, (_, index) => seededRandom(`sample/${index}`).float())
  expect(new Set(firsts).size).toBe(1_000)
  const mean = firsts.reduce((sum, number) => sum + number, 0) / firsts.length
  expect(mean).toBeGreaterThan(0.45)
  expect(mean).toBeLessThan(0.55)
})

test('indexes follow their weights', () => {
  const random = seededRandom('weights')
  const counts = [0, 0, 0]
  for (let draw = 0; draw < 10_000; draw++) {
    const index = random.weighted([70, 0, 30])
    counts[index] = (counts[index] ?? 0) + 1
  }
  expect(counts[1]).toBe(0)
  expect(counts[0]).toBeGreaterThan(6_700)
  expect(counts[0]).toBeLessThan(7_300)
})

test('shuffled items are the same items', () => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.integer()), (seed, items) => {
      const ascending = (a: number, b: number): number => a - b
      expect(seededRandom(seed).shuffled(items).sort(ascending)).toEqual(items.toSorted(ascending))
    }),
  )
})

test('ids are valid, of one length, and grow with time', () => {
  const random = seededRandom('ids')
  const ids = Array.from({ length: 100 }, (_, day) => entityId(random, Date.UTC(2026, 0, 1 + day)))
  expect(ids.every((id) => isIdentifier(id) && id.length === 24)).toBe(true)
  expect(ids).toEqual(ids.toSorted())
  expect(token(random, 12)).toMatch(/^[A-Za-z0-9]{12}$/)
})
