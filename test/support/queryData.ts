import { formEntity, submissionEntity } from './entities.ts'
import { type Random, seeded } from './random.ts'
import { type Json, scenes, statuses, thinned } from './randomHistory.ts'
import { randomTitle } from './randomTitles.ts'
import type { TestRecord, TestReplica } from './replica.ts'
import { wellFormed } from './wellFormed.ts'

/** A team's entity in its newest state, well formed, and when this state was appended. */
export type StoredEntity = {
  readonly list: 'forms' | 'records'
  readonly team: string
  readonly entity: Json
  readonly changedMs: number
}

/** A history to query. */
export type QueryData = {
  readonly teams: readonly string[]
  readonly stored: readonly StoredEntity[]
  /**
   * Stores all changes, in order per entity but otherwise shuffled, in several Lucene segments. Each segment is sorted like a list,
   * so that only a correct query merges the segments.
   */
  storeIn(replica: TestReplica): Promise<void>
}

const teams = ['acme', 'acme2', 'Acme', 'b.team:1']
const idCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-'
/** The first and the last character of each kind, where sorting may go wrong. */
const outermostCharacters = 'AZaz09._:-'
const names = [
  'Ada',
  'Zoë',
  '李小龍',
  'Ольга',
  'محمد',
  '𠮷田',
  'Nguyễn',
  'e\u0301',
  '👩🏽‍🔬',
  'x\u0000y',
  '',
  'half \ud83d',
  'a\u2028b\u2029',
]
/** Texts that many submissions share, among them the longest one that a filter finds, and a longer one. */
export const texts = [
  ...['good', 'Good', 'a b', 'e\u0301', 'é', '*', 'x\u0000y', '', '\\"', '😀'.repeat(128), 'x'.repeat(257)],
  ...['half \ud83d', '\udfff', 'a\u2028b\u2029c\u0085'],
]
/** Codes of answers, among them codes that look like a code with its value, and one that is too long. */
export const codes = [
  ...['q1', '7', '1', '', '.', 'a.b', '=', 'q=1', '%41', '__proto__', 'constructor'],
  ...['<code>', 'é', '👩🏽‍🔬', '2.q', '*', 'half \ud83d', 'a\u2028b'],
  ...['x'.repeat(256), 'x'.repeat(257)],
]
const scalars = [...texts, '8', 8, 0, -1.5, 1e21, 5e-324, 2 ** 53, true, 'true', false, null]
const emails = ['ada@example.com', 'Ada@Example.COM', 'ÅSA+1@x.example', 'åsa+1@x.example', 'ΝΊΚΟΣ@x.gr']
const busyMoment = Date.parse('2026-03-01T10:00:00.000Z')
const changeMoment = Date.parse('2026-11-20T12:00:00.000Z')
const maxIdCharacters = 128
/** Number of segments: few enough that Elasticsearch merges none. */
const pieceCount = 5

/** The id of a form that only this team has. */
export const ownForm = (team: string): string => `of-${team}`

/** A seeded history of a few teams with the same ids, many entities created in one millisecond, updates and deletions. */
export function queryData(seed: number): QueryData {
  const random = seeded(seed)
  const ids = randomIds(random, 440)
  const histories = teams.flatMap((team) =>
    (['forms', 'records'] as const).flatMap((list) => {
      const share = team !== 'acme' ? 0.1 : list === 'forms' ? 0.6 : 1
      return ids.filter(() => random.chance(share)).map((id) => randomHistory(random, list, team, id))
    }),
  )
  const newest = new Map(histories.flat().map((change) => [`${change.list} ${change.team}/${change.id}`, change]))
  const pieces = inPieces(random, histories)
  return {
    teams,
    stored: [...newest.values()].flatMap((changed) =>
      changed.entity === null ? [] : [{ ...changed, entity: wellFormed(changed.entity) }],
    ),
    storeIn: async (replica) => {
      for (const piece of pieces) {
        const records = (wanted: StoredEntity['list']): TestRecord[] =>
          piece.flatMap(({ list, changedMs, ...change }) =>
            list === wanted ? [{ ...change, appendedAt: new Date(changedMs).toISOString() }] : [],
          )
        await replica.storeForms(...records('forms'))
        await replica.storeSubmissions(...records('records'))
      }
    },
  }
}

type Change = StoredEntity & { readonly id: string; readonly revision: number }

/** Distributes changes over segments at random, keeping the order of each entity's changes. */
function inPieces(random: Random, histories: readonly (readonly Change[])[]): Change[][] {
  const pieces = Array.from({ length: pieceCount }, (): Change[] => [])
  for (const history of random.shuffled(histories)) {
    const places = history.map(() => random.below(pieceCount)).sort()
    for (const [at, change] of history.entries()) pieces[places[at] ?? 0]?.push(change)
  }
  return pieces
}

/** All changes of one entity, sometimes ending with its deletion. */
function randomHistory(random: Random, list: StoredEntity['list'], team: string, id: string): Change[] {
  const last = 1 + random.pick([0, 0, 0, 1, 2])
  const isDeleted = random.chance(0.08)
  return Array.from({ length: isDeleted ? last + 1 : last }, (_, at) => ({
    list,
    team,
    id,
    revision: at + 1,
    changedMs: changeMoment + random.pick([0, 0, 1, random.below(5), random.below(86_400_000)]),
    entity: at === last ? null : list === 'forms' ? randomForm(random, id) : randomSubmission(random, team, id),
  }))
}

/** Ids of all allowed characters; most share a prefix, and many are prefixes of others. */
function randomIds(random: Random, count: number): string[] {
  const longest = 'z'.repeat(maxIdCharacters)
  const ids = new Set(['k', 'k_', '.', '..', '-', '_', ':', longest, longest.slice(1)])
  const family = ['k', 'k_']
  while (ids.size < count) {
    const isOfFamily = random.chance(0.8)
    const start = isOfFamily ? random.pick(family) : random.pick(['', ...ids])
    const character = random.pick([...(isOfFamily ? outermostCharacters : idCharacters)])
    const id = (start + character).slice(0, maxIdCharacters)
    if (isOfFamily && !ids.has(id)) family.push(id)
    ids.add(id)
  }
  return [...ids]
}

function randomForm(random: Random, id: string): Json {
  return thinned(
    random,
    formEntity({
      ...{ id, title: randomTitle(random), scene: random.pick(scenes) },
      localization: random.pick([null, { '10': random.pick(names), '2': [1.5, { ü: null }] }]),
      ...{ description: random.pick(names), isActive: random.chance(0.5) },
      ...{ createdAt: someMoment(random), updatedAt: someMoment(random) },
    }),
    ['id', 'title', 'scene', 'createdAt', 'updatedAt'],
  )
}

function randomSubmission(random: Random, team: string, id: string): Json {
  return thinned(
    random,
    submissionEntity({
      id,
      serialNumber: random.pick([random.below(1_000_000), random.below(3)]),
      formId: random.pick(['f0', 'f1', ownForm(team)]),
      ...{ submittedAt: someMoment(random), updatedAt: someMoment(random) },
      shareToken: random.pick(texts),
      examinee: random.pick([
        null,
        {
          ...{ id: 'm', name: random.pick(names), customData: random.pick([null, 1, { b: [] }]) },
          ...{ email: random.pick(emails), examineeId: random.pick(texts) },
        },
      ]),
      metadata: { utmSource: random.pick(texts), utmMedium: random.pick(texts), utmCampaign: random.pick([null, 'c']) },
      data: randomAnswers(random),
      result: {
        ...{ status: random.pick(statuses), score: random.pick([null, -0.5, 0.1, 2 ** 60, random.below(1_000) / 8]) },
        ...{ level: random.pick([null, ...texts]), outcomeCode: random.pick([null, 'o1', 'o2']) },
      },
    }),
    ['id', 'formId', 'submittedAt', 'updatedAt', 'result'],
  )
}

export const randomAnswers = (random: Random): Json =>
  Object.fromEntries(codes.filter(() => random.chance(0.4)).map((code) => [code, randomAnswer(random)]))

function randomAnswer(random: Random): Json {
  const some = (): Json[] => Array.from({ length: random.below(4) }, () => random.pick(scalars))
  return random.pick([
    random.pick(scalars),
    random.pick(scalars),
    some(),
    [...some(), some(), { good: 'good' }],
    { a: 'b' },
  ])
}

/** A date-time in any format: mostly one millisecond, some next to it, some of the same day, a few years away. */
function someMoment(random: Random): string {
  const near = busyMoment + random.pick([-1, 1, random.below(1_000), random.below(86_400_000)])
  const far = Date.parse(random.pick(['0001-01-01T00:00:00Z', '1969-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z']))
  const epochMs = random.chance(0.75) ? busyMoment : random.chance(0.9) ? near : far
  const text = new Date(epochMs).toISOString()
  const west = `${new Date(epochMs - 7_200_000).toISOString().slice(0, -1)}-02:00`
  return random.pick([text, text.replace('Z', '+00:00'), text.replace('Z', `${random.below(1_000)}Z`), west])
}
