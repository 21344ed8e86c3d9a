import { pickShare } from '../../../../../../tools/bench/api/mixed/share.ts'

const picked = (share: number, possible: readonly boolean[]): boolean[] => possible.map(pickShare(share, 0))

test('of many that can be picked, the share is, spread evenly', () => {
  const all = picked(0.7, Array(1_000).fill(true))
  expect(all.filter(Boolean)).toHaveLength(700)
  for (let at = 0; at < 1_000; at += 10) expect(all.slice(at, at + 10).filter(Boolean)).toHaveLength(7)
})

test('one that cannot be picked never is, and the next ones make up for it', () => {
  const possible = Array.from({ length: 1_000 }, (_, index) => index % 5 !== 0)
  const all = picked(0.7, possible)
  expect(all.filter((isPicked, at) => isPicked && !possible[at])).toEqual([])
  expect(all.filter(Boolean).length).toBeGreaterThanOrEqual(698)
})

test('what was impossible for long is not made up for without end', () => {
  const all = picked(0.5, [...Array(100).fill(false), ...Array(100).fill(true)])
  expect(all.filter(Boolean).length).toBeLessThanOrEqual(56)
})
