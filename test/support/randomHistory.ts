import { formEntity, submissionEntity } from './entities.ts'
import { type Random, seeded } from './random.ts'
import { readExactly } from './readExactly.ts'

/** A record to produce. */
export type HistoryRecord = {
  readonly topic: 'forms' | 'submissions'
  readonly key: Buffer
  readonly value: Buffer | null
  /** Whether the record breaks the contract. */
  readonly isDeadLetter?: true
}

export type History = { readonly teams: readonly string[]; readonly records: readonly HistoryRecord[] }

// biome-ignore lint/suspicious/noExplicitAny: a test's picture of JSON
export type Json = any

export const scenes = ['knowledge_quiz', 'random_knowledge_quiz', 'scored_quiz', 'outcome_quiz']
export const statuses = ['pending', 'processing', 'completed', 'failed']
const titles = [
  ...['Geography Quiz', 'Größenwahn & Maß', '期末考试', 'استبيان', 'Customer\nSatisfaction "Survey"'],
  ...['', '🎉', 'Ünïcödé', 'half \ud83d', 'Line\u2028by\u2029line\u0085'],
]

/** The record of an entity's state, or of its deletion. */
export const stateRecord = (
  topic: HistoryRecord['topic'],
  key: string,
  revision: number | null,
  changes: Json = {},
): HistoryRecord => {
  const [, id = ''] = key.split('/')
  const entity =
    topic === 'forms' ? { form: formEntity({ id, ...changes }) } : { submission: submissionEntity({ id, ...changes }) }
  const value = revision === null ? null : Buffer.from(JSON.stringify({ revision, ...entity }))
  return { topic, key: Buffer.from(key), value }
}

/** A seeded history of a few teams: late, repeated and shuffled records, deletions, and dead letters. */
export function randomHistory(seed: number, count: number): History {
  const random = seeded(seed)
  const teams = ['acme', 'b.team', 'c_team:1', 'D-4', 'acme2']
  const revisions = new Map<string, number>()
  const records: HistoryRecord[] = []
  while (records.length < count) {
    const topic = random.chance(0.25) ? 'forms' : 'submissions'
    const id = topic === 'forms' ? `f${random.below(12)}` : `s-${random.below(90)}`
    const key = `${random.pick(teams)}/${id}`
    if (random.chance(0.06)) {
      records.push(deadLetter(random, topic, key, id))
      continue
    }
    const revision = (revisions.get(`${topic} ${key}`) ?? 0) + 1 + random.below(3)
    revisions.set(`${topic} ${key}`, revision)
    const value = random.chance(0.03) ? null : stateOf(random, topic, id, revision)
    const record: HistoryRecord = { topic, key: Buffer.from(key), value }
    records.push(record)
    if (random.chance(0.1)) records.push(record)
  }
  return { teams, records: shuffledNearby(random, records) }
}

/** Shuffles records: most stay almost in order, some come very late. */
function shuffledNearby(random: Random, records: readonly HistoryRecord[]): HistoryRecord[] {
  return records
    .map((record, at) => ({ record, at: at + random.next() * (random.chance(0.1) ? records.length : 20) }))
    .sort((a, b) => a.at - b.at)
    .map(({ record }) => record)
}

function stateOf(random: Random, topic: HistoryRecord['topic'], id: string, revision: number): Buffer {
  const entity = topic === 'forms' ? { form: form(random, id) } : { submission: submission(random, id) }
  const unknown = random.chance(0.2) ? { extra: { ignored: true } } : {}
  return Buffer.from(JSON.stringify({ ...unknown, revision, ...entity }, null, random.chance(0.2) ? 2 : 0))
}

/** One of a few date-times, so that ties are common, in any format. */
const moment = (random: Random): string =>
  random.pick([
    ...['2026-03-01T10:00:00.000Z', '2026-03-01T11:00:00+01:00'],
    ...['2026-03-01T10:00:00.0009Z', '2026-03-01T09:59:59.999999Z'],
    `2026-0${1 + random.below(9)}-1${random.below(10)}T0${random.below(10)}:30:00.${100 + random.below(900)}-05:30`,
  ])

function form(random: Random, id: string): Json {
  const full = formEntity({
    ...{ id, title: random.pick(titles), scene: random.pick(scenes), localization: { '10': 'ten', '2': 'two' } },
    ...{ isActive: random.chance(0.5), createdAt: moment(random), updatedAt: moment(random) },
    ...{ description: null, systemText: null, secret: 'never served' },
    fields: [{ code: 'q1', options: [1, null, 'x'] }, { type: 'page_break' }],
  })
  return thinned(random, full, ['id', 'title', 'scene', 'createdAt', 'updatedAt'])
}

const examinee = { id: 'e1', examineeId: 'x1', email: 'a@b.example', name: 'Ann\ude00 \u2028B' }

function submission(random: Random, id: string): Json {
  const status = random.pick(statuses)
  const full = submissionEntity({
    ...{ id, formId: `f${random.below(12)}`, serialNumber: random.below(1_000) },
    ...{ submittedAt: moment(random), updatedAt: moment(random) },
    examinee: random.chance(0.3) ? null : { ...examinee, customData: random.pick([null, 1, { b: [] }]) },
    metadata: { utmSource: 'mail', utmMedium: null, referrer: 'r', ip: '192.0.2.1', userAgent: 'curl' },
    // Half a surrogate pair, and what some readers take for the end of a line.
    data: { q1: ['a', 'b'], '7': 'seven', '1': 'one', q2: 'thanks \ud83d', 'q\ud83d': ['a\u2028b', '\u2029\u0085'] },
    result: { status, score: 1.5, maxScore: 10, level: 'A', outcomeCode: null },
    reportResult: {
      status,
      overallAnalysis: { score: 1.5, maxScore: 10, level: 'A', summary: 's\ud800', suggestions: 't\u2028', other: 1 },
      dimensionAnalysis: { title: 'd', radar: [{ v: 1, '\udc00': '\ud83d' }], items: [] },
      outcome: { code: null, name: 'n', ranking: [{ code: 'a' }] },
      aiSuggestion: { status: 'completed', content: 'c' },
    },
    internal: 'never served',
  })
  return thinned(random, full, ['id', 'formId', 'submittedAt', 'updatedAt', 'result'])
}

/** An entity with some of its optional members missing or null. */
export function thinned(random: Random, entity: Record<string, unknown>, required: readonly string[]): Json {
  const members = Object.entries(entity).flatMap(([name, value]) => {
    if (required.includes(name) || random.chance(0.9)) return [[name, value]]
    return random.chance(0.5) ? [] : [[name, null]]
  })
  return Object.fromEntries(members)
}

function deadLetter(random: Random, topic: HistoryRecord['topic'], key: string, id: string): HistoryRecord {
  const member = topic === 'forms' ? 'form' : 'submission'
  const entity = topic === 'forms' ? form(random, id) : submission(random, id)
  const high = 1_000_000
  const broken: [string, string | Buffer | null][] = [
    [key, 'not json'],
    [key, ''],
    [key, '[]'],
    [key, Buffer.from([0x7b, 0xff, 0x7d])],
    [key, JSON.stringify({ revision: 0, [member]: entity })],
    [key, JSON.stringify({ revision: '7', [member]: entity })],
    [key, JSON.stringify({ revision: 2 ** 53 - 1, [member]: entity })],
    [key, JSON.stringify({ revision: high, [member]: { ...entity, id: 'another' } })],
    [key, JSON.stringify({ revision: high, [member]: { ...entity, updatedAt: '2026-02-30T00:00:00Z' } })],
    [key, JSON.stringify({ revision: high, [member]: { ...entity, updatedAt: '2026-02-03T00:00:00' } })],
    [key, JSON.stringify({ revision: high, [member]: null })],
    [key, JSON.stringify({ revision: high, [member]: { ...entity, scene: 'no_quiz', result: { status: 'odd' } } })],
    ['no-slash', JSON.stringify({ revision: high, [member]: entity })],
    ['team/with/slash', null],
    [`${'t'.repeat(129)}/${id}`, null],
    ['team/', null],
  ]
  const [brokenKey, value] = random.pick(broken)
  return { topic, key: Buffer.from(brokenKey), value: value === null ? null : Buffer.from(value), isDeadLetter: true }
}

/** The fold of a topic's records: record key → state of the highest revision, without deleted entities. */
export function fold(records: readonly HistoryRecord[], topic: HistoryRecord['topic']): Map<string, Json> {
  const newest = new Map<string, { revision: number; entity: Json } | 'gone'>()
  for (const record of records) {
    if (record.isDeadLetter || record.topic !== topic) continue
    const key = record.key.toString()
    const known = newest.get(key)
    if (known === 'gone') continue
    if (record.value === null) {
      newest.set(key, 'gone')
      continue
    }
    const { revision, form, submission } = readExactly(record.value.toString())
    if (known === undefined || revision > known.revision) newest.set(key, { revision, entity: form ?? submission })
  }
  return new Map([...newest].flatMap(([key, state]) => (state === 'gone' ? [] : [[key, state.entity]])))
}
