import { type RawObject, rawMembers } from '../../../../src/core/json/rawJson.ts'
import { readFormRecord } from '../../../../src/core/model/change.ts'
import { type Form, renderFormDetail, renderFormSummary } from '../../../../src/core/model/form.ts'

const summaryNames = 'id title scene language publicToken shareUrl localization isActive createdAt updatedAt'.split(' ')
const detailNames = [...summaryNames, 'description', 'layout', 'systemText', 'fields', 'report']

/** A form as its record tells of it. */
function formOf(text: string): [Form, RawObject] {
  const read = readFormRecord(Buffer.from('acme/f1'), Buffer.from(`{"revision":1,"form":${text}}`))
  if (!read.ok || read.value.live === null) throw new Error(JSON.stringify(read))
  return [read.value.live.entity, read.value.live.raw]
}

const full = `{
  "report": {"2": 1.50, "1": [12345678901234567890]}, "fields": [{"b":1, "a":"\\u00e9\\ud83d"}], "secret": 1,
  "id": "f1", "title": "T\\u00efde", "scene": "scored_quiz", "language": "en_US", "publicToken": "tok",
  "shareUrl": "https:\\/\\/quiz.example\\/tok", "localization": {"10":1e400, "9":-0}, "isActive": false,
  "createdAt": "2026-03-01T11:00:00.1239+01:00", "updatedAt": "2026-03-01T10:00Z",
  "description": "d", "layout": "classic", "systemText": { }
}`
const least =
  '{"id":"f1","title":"","scene":"outcome_quiz","createdAt":"2026-03-01T10:00:00Z","updatedAt":"2026-03-01T10:00:00Z"}'

test('a form in a list has the fields of the form summary, in their order', () => {
  expect([...rawMembers(renderFormSummary(...formOf(full))).keys()]).toEqual(summaryNames)
})

test('a single form has all of them, then its own; fields and report stand last', () => {
  expect([...rawMembers(renderFormDetail(...formOf(full))).keys()]).toEqual(detailNames)
})

test('what the product sent is served as it came: digits, escapes, the order of names, the space between', () => {
  const detail = rawMembers(renderFormDetail(...formOf(full)))
  expect(Object.fromEntries(detail)).toMatchObject({
    title: '"T\\u00efde"',
    shareUrl: '"https:\\/\\/quiz.example\\/tok"',
    localization: '{"10":1e400, "9":-0}',
    isActive: 'false',
    systemText: '{ }',
    fields: '[{"b":1, "a":"\\u00e9\\ud83d"}]',
    report: '{"2": 1.50, "1": [12345678901234567890]}',
  })
})

test('moments are served in UTC with milliseconds', () => {
  const summary = rawMembers(renderFormSummary(...formOf(full)))
  expect([summary.get('createdAt'), summary.get('updatedAt')]).toEqual([
    '"2026-03-01T10:00:00.123Z"',
    '"2026-03-01T10:00:00.000Z"',
  ])
})

test('what is missing is served as null, and what is not documented is not served', () => {
  const given = ['id', 'title', 'scene', 'createdAt', 'updatedAt']
  const detail = rawMembers(renderFormDetail(...formOf(least)))
  for (const name of detailNames) expect(detail.get(name) === 'null').toBe(!given.includes(name))
  expect(renderFormDetail(...formOf(full))).not.toContain('secret')
})

test('a form is one line, however the product laid it out', () => {
  const spread = JSON.stringify(JSON.parse(full), null, 2).replaceAll('\n', '\r\n')
  expect(renderFormDetail(...formOf(spread))).not.toMatch(/[\r\n]/)
  expect(renderFormSummary(...formOf(spread))).not.toMatch(/[\r\n]/)
})
