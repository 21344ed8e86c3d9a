import { rawMembers } from '../../../../src/core/json/rawJson.ts'
import { readFormRecord } from '../../../../src/core/model/record.ts'

const summaryNames = 'id title scene language publicToken shareUrl localization isActive createdAt updatedAt'.split(' ')
const detailNames = [...summaryNames, 'description', 'layout', 'systemText', 'fields', 'report']

/** What is served of a form. */
function formOf(text: string): { readonly summary: string; readonly detail: string } {
  const read = readFormRecord(Buffer.from('acme/f1'), Buffer.from(`{"revision":1,"form":${text}}`))
  if (!read.ok || read.value.live === null) throw new Error(JSON.stringify(read))
  const { summary, detail } = read.value.live.entity
  return { summary: summary.toString(), detail: detail.toString() }
}

const full = `{
  "report": {"2": 1.50, "1": [12345678901234567890]}, "fields": [{"b":1, "a":"\\u00e9\\ud83d"}], "secret": 1,
  "id": "f1", "title": "T\\u00efde", "scene": "scored_quiz", "language": "en_US", "publicToken": "tok",
  "shareUrl": "https:\\/\\/quiz.example\\/tok", "localization": {"10":1e400, "9":-0}, "isActive": false,
  "createdAt": "2026-03-01T11:00:00.1239+01:00", "updatedAt": "2026-03-01T10:00Z",
  "description": "d", "layout": "classic", "systemText": { }
}`
test('a form in a list has the fields of the form summary, in their order', () => {
  expect([...rawMembers(formOf(full).summary).keys()]).toEqual(summaryNames)
})

test('a single form has all of them, then its own; fields and report stand last', () => {
  expect([...rawMembers(formOf(full).detail).keys()]).toEqual(detailNames)
})

test('what the product sent is served as it came: digits, escapes, the order of names, the space between', () => {
  const detail = rawMembers(formOf(full).detail)
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
