import { useApi } from '../support/api.ts'
import { csvRecords } from '../support/csv.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { wellFormed } from '../support/wellFormed.ts'

/*
 * Respondents send what programs stumble over: half a surrogate pair, as a text that was cut has it, and characters that readers of lines take
 * for the end of one.
 */

const half = '\ud83d'
const separated = 'one\u2028two\u2029three\u0085four'
const id = 's1'
const sent = submissionEntity({
  id,
  formId: 'quiz',
  examinee: { id: half, examineeId: separated, email: `a${half}@x.example`, name: `${half} ${separated}` },
  data: { q1: `thanks ${half}`, q2: [half, separated], [`q${half}`]: { [half]: [separated] }, [separated]: 1 },
  metadata: { utmSource: half, utmCampaign: separated },
  result: { status: 'completed', level: separated, outcomeCode: half },
  reportResult: { outcome: { code: half, name: separated, ranking: [{ [separated]: half }] } },
})
const form = formEntity({
  ...{ id: 'quiz', title: `Quiz ${half}`, description: separated, report: { [half]: separated } },
  fields: [{ code: 'q1' }, { code: `q${half}` }, { code: separated }],
})
const api = useApi({
  forms: [{ team: 'team-1', id: 'quiz', entity: form }],
  submissions: [{ team: 'team-1', id, entity: sent }],
  watermark: '2026-11-21T10:00:00.000Z',
})
const received = wellFormed(sent)
const [ndjson, csv] = ['application/x-ndjson', 'text/csv'].map((accept) => ({ headers: { accept } }))
const lineEnds = /[\u0085\u2028\u2029]/

const named = (name: string): string => encodeURIComponent(name)

test.each([
  ...['/records', `/records/${id}`, '/forms', '/forms/quiz', '/record-counts?by=level', '/record-counts?by=outcome'],
  ...['/record-changes', '/form-changes?view=full', `/record-changes?cursor=${named(separated)}`],
  ...[
    `/record-counts?by=answer&code=q2`,
    `/records?fields=id,data.${named(separated)}`,
    `/forms/quiz?includeReport=false`,
  ],
  ...[
    `/records?limit=${named(separated)}`,
    `/records?fields=${named(`a${'😀'.repeat(40)}`)}`,
    `/records?fields=${named(separated)}`,
  ],
  ...[`/records?${named(separated)}=1`, `/${named(separated)}`, `/records/${named(separated)}`],
])('%s is well-formed JSON on one line', async (path) => {
  const { json, text } = await api.get(`/api/v1${path}`)
  expect(text).not.toMatch(lineEnds)
  expect(json).toEqual(wellFormed(json))
})

test.each(['/records', '/records?view=full', '/forms', '/forms?view=full'])(
  '%s as NDJSON has one line per item, also for readers that break lines at U+2028 or U+0085',
  async (path) => {
    const { text } = await api.get(`/api/v1${path}`, ndjson)
    expect(text.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
    expect(JSON.parse(text)).toEqual(wellFormed(JSON.parse(text)))
  },
)

test('half a surrogate pair is served as U+FFFD, in names and values, and all other text as it was sent', async () => {
  const { json } = await api.get(`/api/v1/records/${id}`)
  expect(json).toMatchObject({ data: received['data'], examinee: { name: `\ufffd ${separated}` } })
  expect(json).toMatchObject({ reportResult: { outcome: { ranking: [{ [separated]: '\ufffd' }] } } })
  expect((await api.get('/api/v1/forms/quiz')).json).toMatchObject(
    wellFormed({ title: form['title'], fields: form['fields'] }),
  )
})

test.each([
  ['answer.q1', 'thanks \ufffd'],
  ['answer.q2', '\ufffd'],
  ['answer.q2', separated],
  [`answer.${separated}`, '1'],
  ['email', 'a\ufffd@x.example'],
  ['level', separated],
  ['outcomeCode', '\ufffd'],
])('a filter %j=%j compares the characters that are served', async (name, value) => {
  const { json } = await api.get(`/api/v1/records?${new URLSearchParams({ [name]: value })}`)
  expect(json).toMatchObject({ totalDocs: 1 })
})

test('cells of CSV have the same characters, and JSON in a cell is on one line', async () => {
  const [row] = csvRecords((await api.get('/api/v1/records?formId=quiz', csv)).text)
  expect(row?.['data.q1']?.text).toBe('thanks \ufffd')
  expect(row?.['data.q\ufffd']?.text).toBe(String.raw`{"\ufffd":["one\u2028two\u2029three\u0085four"]}`)
  expect(row?.[`data.${separated}`]?.text).toBe('1')
  expect(row?.['result.level']?.text).toBe(separated)
  expect(row?.['data.other']?.text).not.toMatch(lineEnds)
})
