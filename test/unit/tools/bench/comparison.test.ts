import { type Asker, sideBySide } from '../../../../tools/bench/comparison.ts'

const pace = { connections: 1, leadIn: 0, maxRequests: 1, maxMs: 1 }
const asker = { origin: 'http://127.0.0.1', requestsOf: () => [] }
const askers: Asker[] = [
  { ...asker, label: 'direct, 20' },
  { ...asker, label: 'API, 20', to: { label: 'direct', of: 'direct, 20', goal: { atMost: 2 } } },
]
const { signal } = new AbortController()

test('every asker is a contender of its own name and is held against another one of the same comparison', () => {
  const [one, other] = ['Lists', 'Forms'].map((title) => sideBySide(title, pace, askers, signal))
  const names = [one, other].flatMap((comparison) => comparison?.contenders.map(({ name }) => name))
  expect(new Set(names).size).toBe(4)
  const [direct, api] = one?.sections[0]?.rows ?? []
  expect([direct?.of, api?.of]).toEqual(names.slice(0, 2))
  expect(direct?.to).toBeUndefined()
  expect(api?.to).toEqual({ label: 'direct', of: direct?.of, goal: { atMost: 2 } })
})

test('one connection is judged by latency, several by answers a second', () => {
  const sections = [1, 16].flatMap(
    (connections) => sideBySide('Lists', { ...pace, connections }, askers, signal).sections,
  )
  expect(sections.map(({ title, measure }) => [title, measure])).toEqual([
    ['Lists, one request after the other', 'latency'],
    ['Lists, 16 at once', 'answers a second'],
  ])
})
