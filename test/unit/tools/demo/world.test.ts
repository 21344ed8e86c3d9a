import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { readFormRecord, readSubmissionRecord } from '../../../../src/core/model/record.ts'
import { reportStatuses } from '../../../../src/core/model/submission.ts'
import { createWorld, type World, type WorldRecord } from '../../../../tools/demo/world.ts'

const nowMs = Date.parse('2026-11-21T11:00:00.000Z')
const ninetyDaysMs = 90 * 86_400_000
const worldOf = (submissions: number, seed = 'sample'): World => createWorld({ seed, nowMs, submissions })

type Entity = Record<string, unknown>
const entityOf = (record: WorldRecord): Entity => {
  const { form, submission } = JSON.parse(record.value ?? '{}') as { form?: Entity; submission?: Entity }
  return form ?? submission ?? {}
}
const isChange = (topic: WorldRecord['topic']) => (record: WorldRecord) =>
  record.topic === topic && record.value !== null

/** What a compacted topic would keep. */
const lastByKey = (records: readonly WorldRecord[]): WorldRecord[] => [
  ...new Map(records.map((record) => [record.topic + record.key, record])).values(),
]

function judge({ topic, key, value }: WorldRecord): string | undefined {
  const read = topic === 'forms' ? readFormRecord : readSubmissionRecord
  const judged = read(Buffer.from(key), value === null ? null : Buffer.from(value))
  return judged.ok ? undefined : `${topic} ${key}: ${judged.problem.path} ${judged.problem.rule}`
}

/** The past, and then a minute and a half in steps of a second. */
function pastAndSteps(world: World): WorldRecord[] {
  const past = [...world.past()]
  const steps = Array.from({ length: 90 }, (_, second) => world.step(nowMs + (second + 1) * 1_000))
  return [...past, ...steps.flat()]
}

const past = [...worldOf(1_000).past()]

test('the same seed and time give the same records, another seed others', () => {
  const records = pastAndSteps(worldOf(300))
  expect(pastAndSteps(worldOf(300))).toEqual(records)
  const keys = new Set(records.map(({ key }) => key))
  expect(pastAndSteps(worldOf(300, 'other')).filter(({ key }) => keys.has(key))).toEqual([])
})

test('every record keeps the contract, key, id and value', () => {
  expect([...past, ...pastAndSteps(worldOf(50))].flatMap((record) => judge(record) ?? [])).toEqual([])
})

test("an entity's revisions grow, and nothing follows its deletion", () => {
  const last = new Map<string, number>()
  for (const { topic, key, value } of pastAndSteps(worldOf(1_000))) {
    const entity = `${topic}:${key}`
    const known = last.get(entity) ?? 0
    const { revision } = value === null ? { revision: Infinity } : (JSON.parse(value) as { revision: number })
    expect(revision).toBeGreaterThan(known)
    last.set(entity, revision)
  }
})

test('exactly the wanted number of submissions stands at the end, and the counts say so', () => {
  for (const submissions of [0, 1, 200, 1_000]) {
    const world = worldOf(submissions)
    const standing = lastByKey([...world.past()]).filter(({ value }) => value !== null)
    expect(standing.filter(isChange('submissions'))).toHaveLength(submissions)
    for (const { id } of world.teams) {
      const own = standing.filter(({ key }) => key.startsWith(`${id}/`))
      expect(world.counts(id)).toEqual({
        forms: own.filter(isChange('forms')).length,
        submissions: own.filter(isChange('submissions')).length,
      })
    }
  }
})

test('forms come first, some are edited later, and some of everything is deleted', () => {
  const firstSubmission = past.findIndex(({ topic }) => topic === 'submissions')
  const forms = new Set(past.filter(isChange('forms')).map(({ key }) => key))
  expect(new Set(past.slice(0, firstSubmission).map(({ key }) => key))).toEqual(forms)
  expect(past.slice(firstSubmission).some(isChange('forms'))).toBe(true)
  expect(new Set(past.filter(({ value }) => value === null).map(({ topic }) => topic))).toEqual(
    new Set(['forms', 'submissions']),
  )
})

test('all scenes, statuses and languages occur, and teams are of unequal size', () => {
  const forms = past.filter(isChange('forms')).map(entityOf)
  expect(new Set(forms.map((form) => form['scene']))).toEqual(
    new Set(['knowledge_quiz', 'random_knowledge_quiz', 'scored_quiz', 'outcome_quiz']),
  )
  expect(new Set(forms.map((form) => form['language']))).toEqual(new Set(['en_US', 'de_DE', 'zh_CN']))
  const submissions = lastByKey(past).filter(isChange('submissions'))
  const statuses = submissions.map((record) => (entityOf(record)['result'] as Entity)['status'])
  expect(new Set(statuses)).toEqual(new Set(reportStatuses))
  const world = worldOf(1_000)
  const shares = world.teams.map(({ id }) => submissions.filter(({ key }) => key.startsWith(`${id}/`)).length)
  expect(shares).toEqual(shares.toSorted((a, b) => b - a))
  expect(shares[0]).toBeGreaterThan(10 * (shares[2] ?? 0))
})

test('submissions arrive in the order of time within the last ninety days, with a serial number for each form', () => {
  const first = past.filter(isChange('submissions')).map(entityOf)
  const arrivals = [...new Map(first.map((submission) => [submission['id'], submission])).values()]
  const times = arrivals.map((submission) => Date.parse(submission['submittedAt'] as string))
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  expect(times[0]).toBeGreaterThanOrEqual(nowMs - ninetyDaysMs)
  expect(Math.max(...first.map((submission) => Date.parse(submission['updatedAt'] as string)))).toBeLessThanOrEqual(
    nowMs,
  )
  for (const formId of new Set(arrivals.map((submission) => submission['formId']))) {
    const serials = arrivals.filter((each) => each['formId'] === formId).map((each) => each['serialNumber'])
    expect(serials).toEqual(serials.map((_, index) => index + 1))
  }
})

test('answers are keyed by the codes of their form and score what the form says', () => {
  const forms = new Map(past.filter(isChange('forms')).map((record) => [entityOf(record)['id'], entityOf(record)]))
  for (const submission of past.filter(isChange('submissions')).map(entityOf)) {
    const form = forms.get(submission['formId'])
    const fields = form?.['fields'] as { code: string; options?: { value: string; score?: number }[] }[]
    const data = submission['data'] as Entity
    expect(fields.map(({ code }) => code)).toEqual(expect.arrayContaining(Object.keys(data)))
    const { score } = submission['result'] as { score: number | null }
    if (form?.['scene'] === 'outcome_quiz' || score === null) continue
    const points = fields.map(({ code, options = [] }) => {
      const chosen = options.find(({ value }) => value === String(data[code]))
      return chosen?.score ?? 0
    })
    expect(points.reduce((sum, each) => sum + each, 0)).toBe(score)
  }
})

test('each step brings something new, and pending reports are finished some seconds later', () => {
  const world = worldOf(0)
  expect([...world.past()].every(({ topic }) => topic === 'forms')).toBe(true)
  const steps = Array.from({ length: 60 }, (_, second) => world.step(nowMs + second * 1_000)).flat()
  const statusOf = (record: WorldRecord): unknown => (entityOf(record)['result'] as Entity)['status']
  const submissions = steps.filter(isChange('submissions'))
  const early = new Set(submissions.slice(0, 10).map(({ key }) => key))
  const ends = lastByKey(submissions).filter(({ key }) => early.has(key))
  expect(new Set(submissions.map(statusOf))).toEqual(new Set(reportStatuses))
  expect(ends.map(statusOf).every((status) => status === 'completed' || status === 'failed')).toBe(true)
})

test('records are made as they are asked for, in flat memory', () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const usedAfter = (records: Generator<WorldRecord>, count: number): number => {
    for (let left = count; left > 0; left--) records.next()
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const records = worldOf(1_000_000).past()
  const early = usedAfter(records, 1_000)
  expect(usedAfter(records, 10_000) - early).toBeLessThan(4 * 1024 * 1024)
})
