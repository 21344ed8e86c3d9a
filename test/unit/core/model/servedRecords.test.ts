import { jest } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import type { Served } from '../../../../src/core/json/scanner.ts'
import { formSchema, servedForm, servedFormSummary } from '../../../../src/core/model/form.ts'
import { isRevision } from '../../../../src/core/model/ids.ts'
import { readFormRecord, readSubmissionRecord } from '../../../../src/core/model/record.ts'
import { servedSubmission, servedSubmissionSummary, submissionSchema } from '../../../../src/core/model/submission.ts'
import { documentedTypes } from '../../../support/documentedTypes.ts'
import { formEntity, opaque, submissionEntity } from '../../../support/entities.ts'
import { changedAt, pathsIn } from '../../../support/jsonPaths.ts'
import { wellFormed } from '../../../support/wellFormed.ts'

const key = Buffer.from('acme/s1')
const entity = submissionEntity({ id: 's1' })
const members = Object.entries(entity).map(([name, value]) => [name, JSON.stringify(value)] as const)

const kinds = {
  submission: {
    ...({ read: readSubmissionRecord, schema: submissionSchema, instants: ['submittedAt', 'updatedAt'] } as const),
    served: [servedSubmissionSummary, servedSubmission],
  },
  form: {
    ...({ read: readFormRecord, schema: formSchema, instants: ['createdAt', 'updatedAt'] } as const),
    served: [servedFormSummary, servedForm],
  },
} as const
type Kind = keyof typeof kinds

type Tree = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value)

/** What JSON.parse reads, with every number as its own text. */
const treeOf = (json: string): Tree => {
  type Reviver = (name: string, value: unknown, context: { source: string }) => unknown
  const parse = JSON.parse as (text: string, reviver: Reviver) => Tree
  return parse(json, (_, value, { source }) => (typeof value === 'number' ? `number ${source}` : value))
}

const memberOf = (tree: Tree, name: string): unknown => (Object.hasOwn(tree, name) ? tree[name] : null)

const pick = (tree: Tree, served: Served): unknown =>
  Object.fromEntries(
    served.map((each) => {
      if (typeof each === 'string') return [each, memberOf(tree, each)]
      const inner = memberOf(tree, each[0])
      return [each[0], isObject(inner) ? pick(inner, each[1]) : null]
    }),
  )

/** What is to be served of a record, read by JSON.parse and the schema alone; undefined when the record is to be refused. */
function expected(kind: Kind, value: Buffer): readonly string[] | undefined {
  const { schema, instants, served } = kinds[kind]
  let text: string
  let record: unknown
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value)
    record = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(record) || !isRevision(record['revision'])) return undefined
  const validated = schema.safeParse(record[kind])
  if (!validated.success || validated.data.id !== 's1') return undefined
  const tree = wellFormed(treeOf(text)[kind]) as Tree
  const serial = String(memberOf(tree, 'serialNumber')).replace('number ', '')
  // ISO 8601 allows a comma before the fraction, which Date does not read.
  const canonical: Tree = {
    ...tree,
    ...Object.fromEntries(instants.map((name) => [name, new Date(String(tree[name]).replace(',', '.')).toISOString()])),
    ...(/[.eE]/.test(serial) && { serialNumber: `number ${BigInt(Number(serial))}` }),
  }
  return served.map((names) => JSON.stringify(pick(canonical, names)))
}

/** What is served of a record; undefined when it is refused. */
function rendered(kind: Kind, value: Buffer): { readonly summary: string; readonly detail: string } | undefined {
  const read = kinds[kind].read(key, value)
  if (!read.ok || read.value.live === null) return undefined
  const { summary, detail } = read.value.live.entity
  return { summary: summary.toString(), detail: detail.toString() }
}

/** What some reader takes for the end of a line, or what would move the delimiters of a list. */
const lineEnds = /[\n\r\t\u0085\u2028\u2029]/

/** The same members in the same order, each with its value, numbers digit by digit, on one line, in whole characters. */
function expectAsParsed(value: Buffer, kind: Kind = 'submission'): void {
  const served = rendered(kind, value)
  const texts = served && [served.summary, served.detail].map((text) => JSON.stringify(treeOf(text)))
  expect(texts).toEqual(expected(kind, value))
  for (const text of served === undefined ? [] : [served.summary, served.detail]) expect(text).not.toMatch(lineEnds)
}

/** A number beyond a double is a number still, though it is read as infinite. */
const ajv = new Ajv2020({ strictNumbers: false })
const documented = {
  submission: [ajv.compile(documentedTypes.submissionSummary), ajv.compile(documentedTypes.submission)],
  form: [ajv.compile(documentedTypes.formSummary), ajv.compile(documentedTypes.form)],
}
/** What is made of a record that is accepted is of the types that the specification tells. */
function expectDocumented(value: Buffer, kind: Kind): void {
  const served = rendered(kind, value)
  for (const [at, text] of (served === undefined ? [] : [served.summary, served.detail]).entries()) {
    const validate = documented[kind][at]
    const isDocumented = validate?.(JSON.parse(text))
    expect({ text, problems: validate?.errors, isDocumented }).toMatchObject({ isDocumented: true })
  }
}
const recordOf = (submission: string, revision = '1'): Buffer =>
  Buffer.from(`{"revision":${revision},"submission":${submission}}`)
const objectOf = (given: readonly (readonly [string, string])[]): string =>
  `{${given.map(([name, raw]) => `"${name}":${raw}`).join(',')}}`
/** The entity with other text at a path. */
const withRaw = (place: readonly string[], raw: string): string =>
  JSON.stringify(changedAt(entity, place, '<raw>')).replace('"<raw>"', () => raw)
const withMember = (name: string, raw: string): string =>
  objectOf([...members.filter(([each]) => each !== name), [name, raw]])

/** Whether a record is parsed, more than texts in it, instead of being copied as it stands. */
function isParsed(value: Buffer): boolean {
  const parse = jest.spyOn(JSON, 'parse')
  readSubmissionRecord(key, value)
  const parsed = parse.mock.calls.filter(([text]) => !text.startsWith('"'))
  parse.mockRestore()
  return parsed.length > 0
}

test.each([
  ['with everything that is documented', objectOf(members)],
  ['in another order', objectOf(members.toReversed())],
  ['with spaces between tokens', JSON.stringify(entity, null, 1).replaceAll('\n', '')],
  ['with the least that is needed', objectOf(members.filter(([name]) => /^(id|formId|.*At|result)$/.test(name)))],
  ['with nulls', withMember('examinee', 'null')],
  ['with what is not documented', withMember('more', opaque)],
  ['with escapes and digits that parsing would change', withMember('data', opaque)],
  ['in any script', withMember('shareToken', '"漢字 عمر 🎉 é"')],
  [
    'with half a surrogate pair',
    withMember('data', '{"\\ud83d":"thanks \\ud83d","b":"\\uDE00\\\\ud83d\\ud83d\\ude00"}'),
  ],
  ['with line and paragraph separators', withMember('data', '{"a\u2028":"b\u2029c\u0085"}')],
  ['with an offset', withMember('submittedAt', '"2026-04-01T14:00:00+02:00"')],
  ['on the last day of a month', withMember('updatedAt', '"2024-02-29T23:59:59.999Z"')],
  ['with a number beyond a double', withMember('result', '{"status":"failed","score":1e999}')],
  ['with the least serial number', withMember('serialNumber', '-9007199254740991')],
  ['that is nested deep', withMember('data', `{"a":${'['.repeat(997)}${']'.repeat(997)}}`)],
  ['with a report that has no status yet', withMember('reportResult', '{"status":null}')],
])('a submission %s is rendered without being parsed', (_, submission) => {
  expect(rendered('submission', recordOf(submission))).toBeDefined()
  expectAsParsed(recordOf(submission))
  expect(isParsed(recordOf(submission))).toBe(false)
})

const answers = (raw: string): Buffer => recordOf(withMember('data', `{"a":${raw}}`))

test.each([
  ...['0', '-0', '10', '-1.50', '0.10e5', '1E+2', '1e-2', '1e5', '9'.repeat(1_000), `-${'9'.repeat(999)}`],
  ...['true', 'false', 'null', '""', '"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\u00e9\\uABCD\\uef01"', '"\u007f"', '"\\\\"'],
  ...['[]', '[ ]', '{}', '{ }', '[ 1 , [ ] , { "a" : 1 , "b" : [ ] } ]', '{"a":1,"a":2}'],
])('the answer %s is served as written, without being parsed', (raw) => {
  expect(rendered('submission', answers(raw))?.summary).toContain(`"data":{"a":${raw}},`)
  expect(isParsed(answers(raw))).toBe(false)
})

test.each([
  ...[
    '',
    '+1',
    '-',
    '00',
    '-01',
    '1.',
    '.5',
    '1.e5',
    '1e',
    '1E+',
    '1e-',
    '0x1',
    '1_0',
    'Infinity',
    'NaN',
    '9'.repeat(1_001),
  ],
  ...[
    't',
    'tru',
    'True',
    'trues',
    'fals',
    'nul',
    'nulL',
    'undefined',
    "'a'",
    '"',
    '"\\"',
    '"a\tb"',
    '"\u001f"',
    '"\\x"',
  ],
  ...['"\\u"', '"\\u123"', '"\\u12g4"', '"\\u:000"', '"\\u000G"', '"\\u@000"', '"\\u/000"', '"\\', '"\\u00'],
  ...['[', ']', '[1', '[1,', '[1,]', '[,1]', '[1 2]', '[1}', '{', '{"a"', '{"a":', '{"a":1', '{"a":1,}', '{,}'],
  ...[
    '{"a" 1}',
    '{"a":}',
    '{"a",1}',
    '{a:1}',
    '{1:1}',
    '{a":1}',
    '{1":1}',
    '{"a":1]',
    '{"a":1 "b":2}',
    '{"a":1;"b":2}',
    '[[]',
    '1]',
    '1}',
    '1,',
    '1 1',
  ],
])('a submission with %j as an answer is refused', (raw) => {
  expect(rendered('submission', answers(raw))).toBeUndefined()
})

test.each([
  ...['', ' ', 'null', '[]', '"x"', '1', '{', '{}', '{"revision":1}', '{"submission":{}}'],
  ...[`${recordOf(objectOf(members))}}`, `${recordOf(objectOf(members))},`, `[${recordOf(objectOf(members))}]`],
])('a submission record %j is refused', (text) => {
  expect(rendered('submission', Buffer.from(text))).toBeUndefined()
})

const withoutMember = (name: string): (typeof members)[number][] => members.filter(([each]) => each !== name)

test.each<[string, string]>([
  ['a name with an escape', objectOf([...withoutMember('shareToken'), ['shareTok\\u0065n', '"x"']])],
  ['a name with an escape that is not served', objectOf([...members, ['\\u0065', '1']])],
  ['a name that only begins like a known one', objectOf(members).replace('"shareToken"', '"shareTokens"')],
  ['a name twice', objectOf([...members, ['shareToken', '"second"']])],
  ['a name twice, at last without a value', objectOf([...members, ['shareToken', 'null']])],
  ['an object twice', objectOf([...members, ['examinee', '{"name":"Second"}']])],
  ['a name twice in an object', withMember('examinee', '{"id":"first","email":"e","id":"second"}')],
])('a submission with %s is served as JSON.parse reads it', (_what, submission) => {
  // Of the record before, the order of members is remembered.
  expectAsParsed(recordOf(objectOf(members)))
  expect(rendered('submission', recordOf(submission))).toBeDefined()
  expectAsParsed(recordOf(submission))
})

test.each<[string, unknown]>([
  [
    'the least that is needed',
    Object.fromEntries(Object.entries(entity).filter(([name]) => /^(id|formId|.*At|result)$/.test(name))),
  ],
  ['nulls', { ...entity, serialNumber: null, examinee: null, metadata: null, data: null, reportResult: null }],
  ['nulls within the report', { ...entity, reportResult: { status: null, overallAnalysis: null, outcome: null } }],
])('a submission with %s, which has to be parsed, is served as JSON.parse reads it', (_what, submission) => {
  const record = Buffer.from(JSON.stringify({ revision: 1, submission }, null, '\t'))
  expect(isParsed(record)).toBe(true)
  expectAsParsed(record)
})

test('a submission of a megabyte is served whole, and so is each later one', () => {
  for (const length of [100, 70_000, 1_000_000, 100])
    expectAsParsed(recordOf(withMember('data', `{"a":"${'x'.repeat(length)}"}`)))
})

test('spaces may stand before and after a record', () => {
  const [plain, spaced] = [recordOf(objectOf(members)), Buffer.from(`  ${recordOf(objectOf(members))} `)]
  expect(rendered('submission', spaced)).toEqual(rendered('submission', plain))
  expect(isParsed(spaced)).toBe(false)
})

/** Of each kind of JSON one value. */
const ofKinds = { string: '"x"', number: '1.5', boolean: 'true', object: '{}', array: '[]' }
type JsonKind = keyof typeof ofKinds

test.each<[string, (raw: string) => string, readonly JsonKind[]]>([
  ['shareToken', (raw) => withMember('shareToken', raw), ['string']],
  ['serialNumber', (raw) => withMember('serialNumber', raw), []],
  ['data', (raw) => withMember('data', raw), ['object']],
  ['examinee', (raw) => withMember('examinee', raw), ['object']],
  ['examinee.email', (raw) => withRaw(['examinee', 'email'], raw), ['string']],
  ['examinee.customData', (raw) => withRaw(['examinee', 'customData'], raw), Object.keys(ofKinds) as JsonKind[]],
  ['result.score', (raw) => withRaw(['result', 'score'], raw), ['number']],
  ['reportResult', (raw) => withMember('reportResult', raw), ['object']],
  [
    'reportResult.dimensionAnalysis.items',
    (raw) => withRaw(['reportResult', 'dimensionAnalysis', 'items'], raw),
    ['array'],
  ],
])('%s of a submission may be null, but is refused with another type than its own', (_name, withValue, allowed) => {
  expect(rendered('submission', recordOf(withValue('null')))).toBeDefined()
  for (const [kind, raw] of Object.entries(ofKinds)) {
    const isServed = rendered('submission', recordOf(withValue(raw))) !== undefined
    expect({ kind, isServed }).toEqual({ kind, isServed: allowed.some((each) => each === kind) })
  }
})

const scalar = fc.constantFrom(
  ...['null', 'true', 'false', '0', '-0.0', '1E+2', '12345678901234567890.10', '1e999', '"x"', '""', '"\\u00e9\\/\\""'],
  ...[
    '"é漢🎉"',
    '"\\ud800"',
    '"\\uD83D\\uDE00\\udfff\\ud800\\\\ud800"',
    '"\u2028\u2029\u0085"',
    '"2026-04-01T14:00:00+02:00"',
    '"2026-02-30T00:00:00.000Z"',
    '"completed"',
    '"s1"',
  ],
  ...['{}', '[]', '1.5', '17.0', '9007199254740991', '-9007199254740992', '12345678901234567890123'],
  ...['01', '.5', '1.', '"\\x"', '"\\u12"', 'nul', '{', '"\t"', '"'],
)
const otherNames = ['status', 'customData', 'ranking', 'x', '', '__proto__', 'i\\u0064', '\\ud800', '\\uDFFF\u2028']
const name = fc.constantFrom(...members.map(([each]) => each), ...otherNames)
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('json'), { maxLength: 3 }).map((each) => `[${each.join(' , ')}]`),
    fc.array(fc.tuple(name, tie('json')), { maxLength: 4 }).map(objectOf),
  ),
}))
const someMembers = fc
  .tuple(fc.subarray([...members], { minLength: members.length - 2 }), fc.array(fc.tuple(name, json), { maxLength: 2 }))
  .chain(([own, more]) => fc.shuffledSubarray([...own, ...more], { minLength: own.length + more.length }))
const nested = fc.constantFrom('examinee', 'metadata', 'result', 'reportResult')
const records = fc.oneof(
  someMembers.map((each) => recordOf(objectOf(each))),
  fc
    .tuple(nested, fc.array(fc.tuple(name, json), { maxLength: 3 }))
    .map(([at, inner]) => recordOf(withMember(at, objectOf([['status', '"failed"'], ...inner])))),
  fc.tuple(fc.constantFrom(...pathsIn(entity)), json).map(([place, raw]) => recordOf(withRaw(place, raw))),
  fc.tuple(json, json).map(([submission, revision]) => recordOf(submission, revision)),
)

test('a submission is served as JSON.parse reads it and as documented, for any record', () => {
  fc.assert(
    fc.property(records, (record) => {
      expectAsParsed(record)
      expectDocumented(record, 'submission')
    }),
    { numRuns: 3_000 },
  )
})

test('a record with any wrong byte is served as JSON.parse reads it, or refused', () => {
  const byte = fc.oneof(fc.constantFrom(...Buffer.from('"\\{}[],: \n\t019eEtfn-.')), fc.integer({ min: 0, max: 255 }))
  fc.assert(
    fc.property(records, fc.nat(), byte, fc.constantFrom(0, 1), (record, place, code, skipped) => {
      const at = place % record.length
      expectAsParsed(Buffer.concat([record.subarray(0, at), Buffer.from([code]), record.subarray(at + skipped)]))
    }),
    { numRuns: 3_000 },
  )
})

test('a form is served as JSON.parse reads it and as documented, for any record', () => {
  const form = formEntity({ id: 's1' })
  const space = fc.constantFrom('', ' ', '\n\t')
  const changed = fc.tuple(fc.constantFrom(...pathsIn(form)), json, space).map(([place, raw, indent]) => {
    const text = JSON.stringify({ revision: 1, form: changedAt(form, place, '<raw>') }, null, indent)
    return Buffer.from(text.replace('"<raw>"', () => raw))
  })
  fc.assert(
    fc.property(changed, (record) => {
      expectAsParsed(record, 'form')
      expectDocumented(record, 'form')
    }),
    { numRuns: 1_000 },
  )
})
