import {
  type Answer,
  asNeverBefore,
  careful,
  type Poll,
  pollingScript,
  pollKinds,
  usual,
} from '../../../../../../tools/bench/api/mixed/script.ts'
import { seededRandom } from '../../../../../../tools/demo/random.ts'

const team = {
  id: 'team_1',
  accountKey: 'key',
  submissionIds: ['r1'],
  formIds: ['f1'],
  typed: ['math'],
  takesGzip: false,
}
const watermarkOf = (turn: number): string => new Date(Date.UTC(2026, 0, 1) + turn).toISOString()

/** Asks so many times; `answer` is told the poll and its turn. */
function follow(turns: number, answer: (poll: Poll, turn: number) => Partial<Answer>, habits = careful): Poll[] {
  const script = pollingScript(team, habits, seededRandom('polling'))
  return Array.from({ length: turns }, (_, turn) => {
    const poll = script.next()
    const heard = { status: 200, etag: `"${poll.path}"`, watermark: watermarkOf(turn), isEmpty: false }
    script.hear(poll, { ...heard, ...answer(poll, turn) })
    return poll
  })
}
const windows = (polls: readonly Poll[]): Poll[] => polls.filter(({ kind }) => kind === 'submissions, changedSince')

test('with care, every question is repeated; seven requests in ten name the ETag of the same address', () => {
  const polls = follow(1_000, () => ({ isEmpty: true }))
  expect(new Set(polls.map(({ kind }) => kind))).toEqual(new Set(pollKinds.filter((kind) => kind !== asNeverBefore)))
  const conditional = polls.filter(({ etag }) => etag !== undefined)
  expect(conditional.length).toBeGreaterThan(690)
  expect(conditional.length).toBeLessThan(701)
  for (const { path, etag } of conditional) expect(etag).toBe(`"${path}"`)
})

test('as usual, three questions in ten are new ones and one names an ETag', () => {
  const polls = follow(1_000, () => ({ isEmpty: true }), usual)
  expect(new Set(polls.map(({ kind }) => kind))).toEqual(new Set(pollKinds))
  const asNew = polls.filter(({ kind }) => kind === asNeverBefore)
  expect(Math.abs(asNew.length - 300)).toBeLessThan(50)
  expect(new Set(asNew.map(({ path }) => path)).size).toBe(asNew.length)
  const conditional = polls.filter(({ etag }) => etag !== undefined)
  expect(conditional.length).toBeGreaterThan(90)
  expect(conditional.length).toBeLessThan(101)
})

test('a window begins at a watermark that was told, and stays while it is empty', () => {
  const asked = windows(follow(200, () => ({ isEmpty: true })))
  expect(new Set(asked.map(({ path }) => path))).toEqual(
    new Set(['/api/v1/records?changedSince=2026-01-01T00%3A00%3A00.000Z&limit=20']),
  )
})

test('a window that brings something moves on to the watermark of that answer', () => {
  const told: string[] = []
  const asked = windows(
    follow(200, ({ kind }, turn) => {
      if (kind === 'submissions, changedSince') told.push(watermarkOf(turn))
      return {}
    }),
  )
  const since = asked.map(({ path }) => new URLSearchParams(path.split('?')[1]).get('changedSince'))
  expect(since.slice(1)).toEqual(told.slice(0, -1))
  expect(asked.every(({ etag }) => etag === undefined)).toBe(true)
})

test('without an answer there is no ETag, and without a watermark no window', () => {
  const polls = follow(200, () => ({ status: 503 }))
  expect(polls.filter(({ etag }) => etag !== undefined)).toEqual([])
  expect(windows(polls)).toEqual([])
})
