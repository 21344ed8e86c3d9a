import { formEntity, submissionEntity } from './entities.ts'
import { type Random, seeded } from './random.ts'
import { type History, type HistoryRecord, randomHistory } from './randomHistory.ts'

/** Texts, as JSON, that programs read as something else, cannot hold, or take apart. */
const oddTexts = [
  ...['""', '" "', String.raw`"a\u0000b"`, String.raw`"\u0000"`, String.raw`"half \ud83d"`, String.raw`"\udc00\ud83d"`],
  ...['"{}"', '"[1]"', '"null"', '"true"', '"12"', '"1e400"', '"2026-03-01T10:00:00Z"', '"0000-01-01"', '"Infinity"'],
  ...[
    String.raw`"\\u0000"`,
    String.raw`"back\\slash"`,
    `"it's \\"quoted\\", \\ttabbed, \\r\\nbroken"`,
    '"=1+1"',
    '"\\\\N"',
  ],
  // A private character by which dlt marks decimals, a noncharacter, and characters beyond 16 bits.
  ...['"\uf0261.5"', '"\uffff"', '"👩🏽‍🔬 漢字"', '"%s {0} {{ x }}"'],
]

/** Numbers, as JSON, that not every program can hold. */
const oddNumbers = [
  ...['12345678901234567890123', '-98765432109876543210987', '9223372036854775808', '-9223372036854775809'],
  ...[
    '9007199254740993',
    '0.12345678901234567890123',
    '12345678901234567890.123',
    '1e400',
    '-1.5E+400',
    '1e-400',
    '-0.0',
    '1E2',
  ],
]

/** What an answer was, and has become: a text, then a list, and so on. */
const oddShapes = ['"text"', '["a","b"]', '{"a":{"b":[]}}', '17', 'false', 'null', '[]', '{}', '[[],{},""]', '[null]']

/** Names, as JSON, that programs take apart, change or give a meaning. */
const oddNames = [
  ...[
    '""',
    '" "',
    '"a.b"',
    '"a"',
    '"."',
    '"a..b"',
    '"a/b"',
    '"a[0]"',
    '"$"',
    '"A"',
    '"äöü"',
    '"q\\""',
    '"_id"',
    '"id"',
    '"deleted"',
  ],
  ...[
    String.raw`"nul\u0000"`,
    String.raw`"half\ud83d"`,
    '"1"',
    '"select"',
    '"column-name"',
    '"camelCase"',
    '"camel_case"',
  ],
]

/** Answers that are nested almost as deeply as a record may be, as JSON. Not every program reads them, so no `oddHistory` has them. */
export const deepAnswers = `{"q":${'['.repeat(990)}1${']'.repeat(990)}}`

const oddTimes = [
  ...['0000-01-01T00:00:00Z', '0000-12-31T23:59:59.999Z', '0001-01-01T00:00:00+00:00', '1582-10-10T00:00:00Z'],
  ...['1969-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z', '2024-02-29T23:59:59.0019-08:00'],
]

const oddIntegers = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0, 2 ** 31]

/**
 * A random history of a few teams whose forms and submissions also have every kind of value that the contract allows and that programs
 * cannot all hold: numbers beyond a double, NUL, the year 0000, names with dots, and so on. Many change from one of them to another.
 *
 * The first team, `teams[0]`, has every one of them in the end. Compare with what `readExactly` reads, not with `JSON.parse`.
 */
export function oddHistory(seed: number, count: number): History {
  const random = seeded(seed)
  const { teams, records } = randomHistory(seed, count)
  const odd = teams.slice(0, 2).flatMap((team) => oddEntities(random, team))
  const placed = [
    ...records.map((record, at) => ({ record, at: at / records.length })),
    ...odd.map((record) => ({ record, at: random.next() })),
  ]
  return { teams, records: placed.sort((a, b) => a.at - b.at).map(({ record }) => record) }
}

/** Entities with three revisions each, the last of which has one odd value after the other. */
function oddEntities(random: Random, team: string): HistoryRecord[] {
  const values = [...oddTexts, ...oddNumbers, ...oddShapes]
  return values.flatMap((value, at) =>
    [random.pick(values), random.pick(values), value].flatMap((now, revision) => {
      const place = { team, id: `odd-${at}`, revision: revision + 1, at: at + revision, now }
      return [submissionRecord(random, place), formRecord(place)]
    }),
  )
}

type Place = {
  readonly team: string
  readonly id: string
  readonly revision: number
  readonly at: number
  /** The JSON of the value that is tried. */
  readonly now: string
}

const nth = <T>(values: readonly T[], at: number): T => values[at % values.length] as T
const isText = (json: string): boolean => json.startsWith('"')

/** JSON in which placeholders, as texts, stand for parts that JSON.stringify would write differently. */
const filled = (value: unknown, parts: Readonly<Record<string, string>>): Buffer =>
  Buffer.from(JSON.stringify(value).replace(/"<(\w+)>"/g, (_, name: string) => parts[name] ?? ''))

function submissionRecord(random: Random, { team, id, revision, at, now }: Place): HistoryRecord {
  const text = isText(now) ? '<now>' : 'text'
  const submission = submissionEntity({
    ...{ id, shareToken: text, reportUrl: text, serialNumber: nth(oddIntegers, at) },
    ...{ submittedAt: nth(oddTimes, at), updatedAt: nth(oddTimes, at + 1) },
    examinee: { id: text, examineeId: text, email: text, name: text, customData: '<now>' },
    metadata: { utmSource: text, utmMedium: text, utmCampaign: '', referrer: text, ip: text, userAgent: text },
    data: random.chance(0.1) ? {} : '<answers>',
    result: {
      status: 'completed',
      score: isNumber(now) ? '<now>' : 1,
      maxScore: '<score>',
      level: text,
      outcomeCode: '',
    },
    reportResult: {
      ...{ status: 'completed', overallAnalysis: { score: '<score>', level: text, summary: text } },
      dimensionAnalysis: { title: text, radar: ['<now>'], items: [] },
      outcome: { code: text, name: text, ranking: '<now>' },
      aiSuggestion: { status: text, content: text },
    },
  })
  const members = oddNames.map((name, index) => `${name}:${index % 2 === 0 ? now : `[${now}]`}`)
  const answers = `{"same":${now},"deep":{"a.b":{"":${now}}},${members.join()}}`
  const value = filled({ revision, submission }, { now, answers, score: nth(oddNumbers, at) })
  return { topic: 'submissions', key: Buffer.from(`${team}/${id}`), value }
}

const isNumber = (json: string): boolean => /^-?\d/.test(json)

function formRecord({ team, id, revision, at, now }: Place): HistoryRecord {
  const text = isText(now) ? '<now>' : 'text'
  const form = formEntity({
    ...{ id, title: text, language: text, publicToken: text, shareUrl: text, layout: text, description: text },
    ...{ localization: '<names>', systemText: {}, report: '<names>', fields: ['<now>', {}], isActive: at % 2 === 0 },
    ...{ createdAt: nth(oddTimes, at), updatedAt: nth(oddTimes, at + 3) },
  })
  const names = `{${nth(oddNames, at)}:${now},"a":{}}`
  return { topic: 'forms', key: Buffer.from(`${team}/${id}`), value: filled({ revision, form }, { now, names }) }
}
