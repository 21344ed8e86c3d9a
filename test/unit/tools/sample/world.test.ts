import { readFormRecord, readSubmissionRecord } from '../../../../src/core/model/record.ts'
import { createWorld, type World, type WorldRecord } from '../../../../tools/sample/world.ts'

const nowMs = Date.parse('2026-11-21T11:00:00.000Z')
const worldOf = (submissions: number, seed = 'sample'): World => createWorld({ seed, nowMs, submissions })

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
