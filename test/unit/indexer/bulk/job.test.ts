import * as jobs from '../../../../indexer/bulk/job.ts'
import { documentsOf } from '../../../support/bulkRecords.ts'

/** Records of entities in the order of their submission, and what each is told. */
function records() {
  let order = 0
  const told: (readonly [string, jobs.Outcome])[] = []
  const jobOf = (version: number, content = 'a', reportsConflicts = true, entity = 'e'): jobs.Job => {
    const name = `${version}${content}`
    const done = (outcome: jobs.Outcome) => told.push([name, outcome])
    return jobs.newJob(
      { documents: documentsOf(entity, version, content), reportsConflicts, name: () => name, done },
      order++,
    )
  }
  return { jobOf, told }
}
/** As of a deletion. */
function withoutContent(job: jobs.Job): jobs.Job {
  const { digest: _, ...list } = job.list
  return { ...job, list }
}
const namesOf = (some: readonly jobs.Job[]): string[] => some.map((each) => each.name()).sort()

test('a record that supersedes another also supersedes the records that the other had superseded', () => {
  const { jobOf } = records()
  const few = jobs.supersede(jobOf(1), jobOf(2))
  const many = [4, 5, 6].map((version) => jobOf(version)).reduce(jobs.supersede, jobOf(7))
  const winner = jobs.supersede(few, many)
  expect([winner.name(), namesOf(winner.superseded)]).toEqual(['7a', ['1a', '2a', '4a', '5a', '6a']])
  const last = jobs.supersede(jobOf(8), winner)
  expect([last.name(), namesOf(last.superseded)]).toEqual(['8a', ['1a', '2a', '4a', '5a', '6a', '7a']])
})

test('a stored record is indexed, and superseded records are stale, except other content of the same revision', () => {
  const { jobOf, told } = records()
  const first = jobOf(7)
  const winner = [jobOf(7, 'b'), jobOf(7), jobOf(6, 'c'), jobOf(7, 'd', false)].reduce(jobs.supersede, first)
  winner.isStored = true
  jobs.reportOutcomes(winner, { version: 7, digest: 'a' })
  expect(told[0]).toEqual(['7a', { kind: 'indexed' }])
  expect(new Map(told.slice(1))).toEqual(
    new Map([
      ['7b', { kind: 'conflict' }],
      ['7a', { kind: 'stale' }],
      ['6c', { kind: 'stale' }],
      ['7d', { kind: 'stale' }],
    ]),
  )
})

test.each<[string, jobs.StoredState, boolean, string]>([
  ['its own content', { version: 7, digest: 'a' }, true, 'stale'],
  ['other content', { version: 7, digest: 'b' }, true, 'conflict'],
  ['other content, whose dead letter was written before', { version: 7, digest: 'b' }, false, 'stale'],
  ['unknown content', { version: 7, digest: undefined }, true, 'stale'],
  ['a later revision with other content', { version: 8, digest: 'b' }, true, 'stale'],
])('a record whose revision is stored with %s already is %s', (_, stored, reportsConflicts, kind) => {
  const { jobOf, told } = records()
  jobs.reportOutcomes(jobOf(7, 'a', reportsConflicts), stored)
  expect(told).toEqual([['7a', { kind }]])
})

test('a record without content, such as a deletion, conflicts with no other content', () => {
  const { jobOf, told } = records()
  jobs.reportOutcomes(withoutContent(jobOf(7)), { version: 7, digest: 'b' })
  expect(told).toEqual([['7a', { kind: 'stale' }]])
})

test('the stored document must be read if a compared record of its revision was not stored now', () => {
  const { jobOf } = records()
  expect(jobs.mustCompare(jobOf(7))).toBe(true)
  expect(jobs.mustCompare(jobOf(7, 'a', false))).toBe(false)
  expect(jobs.mustCompare({ ...jobOf(7), isStored: true })).toBe(false)
  expect(jobs.mustCompare(withoutContent(jobOf(7)))).toBe(false)
  expect(jobs.mustCompare(jobs.supersede(jobOf(7, 'a', false), jobOf(7, 'b')))).toBe(true)
  expect(jobs.mustCompare(jobs.supersede(jobOf(7, 'a', false), jobOf(6, 'b')))).toBe(false)
})

test('a rejected record gets its reason, and the newest record that it superseded takes its place', () => {
  const { jobOf, told } = records()
  const winner = [jobOf(2), jobOf(4), jobOf(3)].reduce(jobs.supersede, jobOf(5))
  const next = jobs.reportRejection(winner, 'refused')
  expect(told).toEqual([['5a', { kind: 'rejected', reason: 'refused' }]])
  expect([next?.name(), namesOf(next?.superseded ?? [])]).toEqual(['4a', ['2a', '3a']])
  expect(jobs.reportRejection(jobOf(1), 'refused')).toBeUndefined()
})

test('a document is at fault once it has failed twice, at least a minute apart', () => {
  const { jobOf } = records()
  const [early, late] = [jobOf(1), jobOf(1)]
  expect([0, 30_000, 59_999, 60_000].map((nowMs) => jobs.confirmSuspicion(early, nowMs))).toEqual([
    ...[false, false, false, true],
  ])
  expect([60_000, 120_000].map((nowMs) => jobs.confirmSuspicion(late, nowMs))).toEqual([false, true])
})

test('the minute begins with the first failed state of an entity, and each state has to fail twice itself', () => {
  const { jobOf } = records()
  const first = jobOf(1)
  jobs.confirmSuspicion(first, 0)
  const newer = jobs.supersede(first, jobOf(2))
  expect([90_000, 90_001].map((nowMs) => jobs.confirmSuspicion(newer, nowMs))).toEqual([false, true])
  const older = jobs.reportRejection(newer, 'refused')
  expect(older).toBe(first)
  expect([90_002, 90_003].map((nowMs) => jobs.confirmSuspicion(first, nowMs))).toEqual([false, true])
  // What has failed itself keeps its own moment.
  const [early, own] = [jobOf(1), jobOf(2)]
  jobs.confirmSuspicion(early, 0)
  jobs.confirmSuspicion(own, 50_000)
  expect(jobs.confirmSuspicion(jobs.supersede(early, own), 109_999)).toBe(false)
})

test('documents of one index and team share a shard, and count with the bytes of their text', () => {
  const [list, detail] = documentsOf('a', 1, '{"ä":1}')
  const [other] = documentsOf('b', 2)
  const [foreign] = documentsOf('a', 1, '{}', 'u')
  if (list === undefined || detail === undefined || other === undefined || foreign === undefined) throw new Error()
  expect(new Set([list, other, detail, foreign].map(jobs.shardOf)).size).toBe(3)
  expect(jobs.shardOf(list)).toBe(jobs.shardOf(other))
  expect(jobs.bytesOf([list, detail, other])).toBe(8 + 8 + 7)
})
