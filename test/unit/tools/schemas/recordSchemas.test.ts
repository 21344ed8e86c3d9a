import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { readAccountKeyRecord, readFormRecord, readSubmissionRecord } from '../../../../src/core/model/record.ts'
import { configurationPage } from '../../../../tools/schemas/configuration.ts'
import { recordSchemas } from '../../../../tools/schemas/recordSchemas.ts'
import { scalePage } from '../../../../tools/schemas/scalePage.ts'
import { type RecordKind, recordTexts, validValues } from '../../../support/recordValues.ts'

/** A number beyond a double is a number still, though JSON.parse makes it infinite. */
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictNumbers: false })
const kinds: RecordKind[] = ['form', 'submission', 'account-key']
const readers = { form: readFormRecord, submission: readSubmissionRecord, 'account-key': readAccountKeyRecord }
const members = { form: 'form', submission: 'submission', 'account-key': 'key' }
const committed = (kind: RecordKind): object => JSON.parse(readFileSync(`schemas/${kind}.json`, 'utf8')) as object
const validators = new Map(kinds.map((kind) => [kind, ajv.compile(committed(kind))]))

/** By the schema, and by the indexer for a record whose key names the entity, so far as an id can be in a key. */
function judge(kind: RecordKind, text: string): { readonly schema: boolean; readonly indexer: boolean } {
  const value = JSON.parse(text) as Record<string, { id?: unknown } | undefined> | null
  const id = value?.[members[kind]]?.id
  const key = `acme/${typeof id === 'string' && /^[\w.:-]{1,128}$/.test(id) ? id : 'e1'}`
  const { ok } = readers[kind](Buffer.from(key), Buffer.from(text))
  return { schema: validators.get(kind)?.(value) === true, indexer: ok }
}

test.each(kinds)('schemas/%s.json is up to date with `npm run schemas`', (kind) => {
  expect(committed(kind)).toEqual(recordSchemas[kind])
})

test.each([
  ['docs/configuration.md', configurationPage],
  ['docs/scale.md', scalePage],
])('%s is up to date with `npm run schemas`', (path, write) => {
  const page = readFileSync(path, 'utf8')
  expect(page).toBe(write(page))
})

test.each(kinds)('schema and indexer agree about every record of a %s that is nearly valid', (kind) => {
  const seen = { accepted: 0, refused: 0 }
  fc.assert(
    fc.property(recordTexts(kind), (text) => {
      const { schema, indexer } = judge(kind, text)
      seen[indexer ? 'accepted' : 'refused'] += 1
      expect({ text, schema }).toEqual({ text, schema: indexer })
    }),
    { numRuns: 2_000 },
  )
  expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(100)
})

test.each<[string, RecordKind, string]>([
  ['is no object', 'form', '[]'],
  ['is null, which is not the same as no value', 'submission', 'null'],
])('schema and indexer refuse a value that %s', (_, kind, text) => {
  expect(judge(kind, text)).toEqual({ schema: false, indexer: false })
})

const withInstant = (text: string): string =>
  JSON.stringify(validValues.submission).replace('2026-04-01T12:05:00.500Z', text)

test.each<[string, string]>([
  ['a day that the month lacks', withInstant('2026-02-30T10:00:00Z')],
  ['a 29 February of another year', withInstant('2026-02-29T10:00:00Z')],
  ['a year before 0000 in UTC', withInstant('0000-01-01T00:00:00+01:00')],
  ['a year after 9999 in UTC', withInstant('9999-12-31T23:59:59-01:00')],
  [
    'a member nested too deep',
    JSON.stringify(validValues.submission).replace('"A"', '['.repeat(999) + ']'.repeat(999)),
  ],
  ['a number of too many characters', JSON.stringify(validValues.submission).replace('80', '1'.repeat(1_001))],
])('only the indexer refuses %s', (_, text) => {
  expect(judge('submission', text)).toEqual({ schema: true, indexer: false })
})

test.each(kinds)('schema and indexer accept undocumented members of a %s', (kind) => {
  const value: Readonly<Record<string, unknown>> = validValues[kind]
  const entity = { ...Object(value[members[kind]]), more: { a: [1] }, toString: 'x' }
  const text = JSON.stringify({ ...value, more: 1, [members[kind]]: entity })
  expect(judge(kind, text)).toEqual({ schema: true, indexer: true })
})
