import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { readKey, readSubmissionRecord } from '../../../../src/core/model/change.ts'
import { readFastSubmission } from '../../../../src/core/model/fastSubmission.ts'
import type { EntityId } from '../../../../src/core/model/ids.ts'
import type { Instant } from '../../../../src/core/model/instant.ts'
import { renderSubmissionDetail, renderSubmissionSummary } from '../../../../src/core/model/submission.ts'
import {
  type DocumentWrite,
  renderedSubmissionWrites,
  submissionWrites,
} from '../../../../src/core/stores/documents.ts'
import { documentedTypes } from '../../../support/documentedTypes.ts'
import { opaque, submissionEntity } from '../../../support/entities.ts'
import { changedAt, placesIn } from '../../../support/places.ts'

const appendedAt = '2026-05-01T00:00:00.000Z' as Instant
const key = Buffer.from('acme/s1')
const entity = submissionEntity({ id: 's1' })
const members = Object.entries(entity).map(([name, value]) => [name, JSON.stringify(value)] as const)

function quickly(value: Buffer): readonly DocumentWrite[] | undefined {
  const whose = readKey(key)
  const submission = readFastSubmission('s1' as EntityId, value)
  return whose.ok && submission !== undefined
    ? renderedSubmissionWrites(whose.value, submission, appendedAt)
    : undefined
}
function carefully(value: Buffer): readonly DocumentWrite[] | undefined {
  const read = readSubmissionRecord(key, value)
  return read.ok ? submissionWrites(read.value, appendedAt) : undefined
}
/** Both ways tell the same, unless the quick one leaves it to the other. */
function expectSame(value: Buffer): void {
  const quick = quickly(value)
  if (quick !== undefined) expect(quick).toEqual(carefully(value))
}

/** A number beyond a double is a number still, though it is read as infinite. */
const ajv = new Ajv2020({ strictNumbers: false })
const isSummary = ajv.compile(documentedTypes.submissionSummary)
const isDetail = ajv.compile(documentedTypes.submission)
/** What is made of a record that is accepted is of the types that the specification tells. */
function expectDocumented(value: Buffer): void {
  const read = readSubmissionRecord(key, value)
  if (!read.ok || read.value.live === null) return
  const { entity: judged, raw } = read.value.live
  const answers = [
    [renderSubmissionSummary(judged, raw), isSummary],
    [renderSubmissionDetail(judged, raw), isDetail],
  ] as const
  for (const [text, validate] of answers) {
    const isDocumented = validate(JSON.parse(text))
    expect({ text, problems: validate.errors, isDocumented }).toMatchObject({ isDocumented: true })
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

describe('A record is read the quick way', () => {
  test.each([
    ['with everything that is documented', objectOf(members)],
    ['in another order', objectOf(members.toReversed())],
    ['with spaces between tokens', JSON.stringify(entity, null, 1).replaceAll('\n', '')],
    ['with the least that is needed', objectOf(members.filter(([name]) => /^(id|formId|.*At|result)$/.test(name)))],
    ['with nulls', withMember('examinee', 'null')],
    ['with what is not documented', withMember('more', opaque)],
    ['with escapes and digits that parsing would change', withMember('data', opaque)],
    ['in any script', withMember('shareToken', '"漢字 عمر 🎉 é"')],
    ['with an offset', withMember('submittedAt', '"2026-04-01T14:00:00+02:00"')],
    ['on the last day of a month', withMember('updatedAt', '"2024-02-29T23:59:59.999Z"')],
    ['with a number beyond a double', withMember('result', '{"status":"failed","score":1e999}')],
    ['with an integer beyond a double', withMember('serialNumber', '-12345678901234567890')],
    ['with a report that has no status yet', withMember('reportResult', '{"status":null}')],
  ])('%s', (_, submission) => {
    const quick = quickly(recordOf(submission))
    expect(quick).toBeDefined()
    expect(quick).toEqual(carefully(recordOf(submission)))
  })
})

describe('The careful way judges a record', () => {
  test.each([
    ['with a name given twice', objectOf([...members, ['formId', '"other"']])],
    ['with a name written with escapes', objectOf([...members, ['\\u0069d', '"other"']])],
    ['with an id of another record', withMember('id', '"s2"')],
    ['with an id written with escapes', withMember('id', '"\\u00731"')],
    ['with a form that cannot be', withMember('formId', '"no/form"')],
    ['without a form', objectOf(members.filter(([name]) => name !== 'formId'))],
    ['with a day that is not', withMember('updatedAt', '"2025-02-29T00:00:00.000Z"')],
    ['with a status that is not', withMember('result', '{"status":"done"}')],
    ['with a report status that is not', withMember('reportResult', '{"status":"done"}')],
    ['with a serial number that is no integer', withMember('serialNumber', '1.5')],
    ['with a serial number that has a fraction of zeros', withMember('serialNumber', '17.0')],
    ['with a serial number that has an exponent', withMember('serialNumber', '1e3')],
    ['with a member of another type', withMember('shareToken', '7')],
    ['with a nested member of another type', withMember('examinee', '{"email":[]}')],
    ['on several lines', JSON.stringify(entity, null, 2)],
    ['with a tab', withMember('data', '{\t}')],
    ['with a control character in a string', withMember('data', '{"a":"\n"}')],
    ['that is nested deep', withMember('data', `{"a":${'['.repeat(500)}${']'.repeat(500)}}`)],
    ['that is nested too deep', withMember('data', `{"a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`)],
    ['with a long number', withMember('serialNumber', '1'.repeat(1_001))],
    ['with a number that begins with 0', withMember('serialNumber', '01')],
    ['with half a number', withMember('serialNumber', '1.')],
    ['with half an escape', withMember('shareToken', '"\\u12"')],
    ['with an escape that is none', withMember('shareToken', '"\\x"')],
    ['with half a word', withMember('data', 'nul')],
    ['with a comma too many', '{"id":"s1",}'],
    ['that ends early', objectOf(members).slice(0, -1)],
    ['that is no object', '[]'],
  ])('%s', (_, submission) => {
    expect(quickly(recordOf(submission))).toBeUndefined()
  })

  test.each(['0', '-1', '1.5', '9007199254740991', '"1"', 'null', '01'])('of revision %s', (revision) => {
    expect(quickly(recordOf(objectOf(members), revision))).toBeUndefined()
  })

  test('that is no UTF-8', () => {
    const value = recordOf(withMember('shareToken', '"é"'))
    const at = value.indexOf(0xc3)
    for (const bytes of [
      [0xc3, 0x28],
      [0xff, 0xff],
      [0xc0, 0x80],
    ])
      expect(
        quickly(Buffer.concat([value.subarray(0, at), Buffer.from(bytes), value.subarray(at + 2)])),
      ).toBeUndefined()
    expect(quickly(Buffer.concat([Buffer.from('\ufeff'), value]))).toBeUndefined()
    expect(quickly(Buffer.concat([value, Buffer.from('\u0000')]))).toBeUndefined()
  })
})

const scalar = fc.constantFrom(
  ...['null', 'true', 'false', '0', '-0.0', '1E+2', '12345678901234567890.10', '1e999', '"x"', '""', '"\\u00e9\\/\\""'],
  ...[
    '"é漢🎉"',
    '"\\ud800"',
    '"2026-04-01T14:00:00+02:00"',
    '"2026-02-30T00:00:00.000Z"',
    '"completed"',
    '"s1"',
    '{}',
    '[]',
  ],
  ...['01', '.5', '1.', '"\\x"', 'nul', '{', '"\t"', '"'],
)
const name = fc.constantFrom(
  ...members.map(([each]) => each),
  'status',
  'customData',
  'ranking',
  'x',
  '',
  '__proto__',
  '\\u0069d',
)
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
  fc.tuple(fc.constantFrom(...placesIn(entity)), json).map(([place, raw]) => recordOf(withRaw(place, raw))),
  fc.tuple(json, json).map(([submission, revision]) => recordOf(submission, revision)),
)

test('both ways make the same of whatever a record says', () => {
  fc.assert(fc.property(records, expectSame), { numRuns: 3_000 })
})

test('what is accepted is served as documented', () => {
  fc.assert(fc.property(records, expectDocumented), { numRuns: 3_000 })
})

test('both ways make the same of records with a byte that is wrong', () => {
  const byte = fc.oneof(fc.constantFrom(...Buffer.from('"\\{}[],: \n\t019eEtfn-.')), fc.integer({ min: 0, max: 255 }))
  fc.assert(
    fc.property(records, fc.nat(), byte, fc.constantFrom(0, 1), (record, place, code, skipped) => {
      const at = place % record.length
      expectSame(Buffer.concat([record.subarray(0, at), Buffer.from([code]), record.subarray(at + skipped)]))
    }),
    { numRuns: 3_000 },
  )
})
