import { rawMembers } from '../../src/core/json/rawJson.ts'
import { linesOf as linesIn, type TestAnswer, useApi } from '../support/api.ts'
import { asWritten, type Cell, csvRecords, csvRows, expectCell } from '../support/csv.ts'
import { formEntity, opaque, submissionEntity } from '../support/entities.ts'
import { queryData } from '../support/queryData.ts'

const [team, other] = ['acme', 'b.team:1']
const [csv, ndjson] = ['text/csv', 'application/x-ndjson']
const watermark = '2026-11-21T08:00:00.000Z'
const quiz = 'quiz'
const fields = [{ code: 'q2' }, { type: 'page_break' }, { fields: [{ code: 'q1' }] }, { code: 'other' }, { code: 'q2' }]
/** What is sent as it came, and what a spreadsheet would run. */
const answers = String.raw`{"10":-5,"q1":"=HYPERLINK(\"http:\/\/evil\"),\r\nyes; -1","q2":${opaque},"other":12345678901234567890.10}`
const answered = submissionEntity({ id: 'answered', formId: quiz, data: {} })

const api = useApi({
  teams: [team, other],
  forms: [
    { team, id: quiz, entity: formEntity({ id: quiz, fields }) },
    { team: other, id: 'of-others', entity: formEntity({ id: 'of-others', fields }) },
  ],
  submissions: [
    { team, id: 'answered', entity: JSON.stringify(answered).replace('"data":{}', `"data":${answers}`) },
    { team, id: 'empty', entity: submissionEntity({ id: 'empty', formId: quiz, data: null, examinee: null }) },
  ],
  fill: (replica) => queryData(61).storeIn(replica),
  watermark,
  hasFaultyElasticsearch: true,
})

const ask = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<TestAnswer> =>
  api.get(path, { headers: { accept: csv, ...headers } })
const recordsOf = async (path: string): Promise<Record<string, Cell>[]> => csvRecords((await ask(path)).text)
const headerOf = ({ text }: TestAnswer): string[] => csvRows(text)[0]?.map((cell) => cell.text) ?? []
const linesOf = async (path: string): Promise<string[]> => linesIn(await ask(path, { accept: ndjson }))

/** What stands under the name of a column in a line of NDJSON. */
const rawAt = (line: string, column: string): string | undefined =>
  column.split('.').reduce<string | undefined>((raw, name) => rawMembers(raw ?? 'null').get(name), line)

test.each([
  ...['/api/v1/records', '/api/v1/forms', '/api/v1/forms?titleContains=quzi'],
  '/api/v1/records?status=completed&changedSince=2026-11-20T12:00:00.001Z',
])('%s has the same values as CSV and as NDJSON, cell by cell', async (path) => {
  const answer = await ask(path)
  expect([answer.status, answer.headers['replica-watermark']]).toEqual([200, watermark])
  expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present')
  const [records, lines] = [csvRecords(answer.text), await linesOf(path)]
  expect(lines).not.toHaveLength(0)
  expect(records).toHaveLength(lines.length)
  for (const [at, record] of records.entries())
    for (const [column, cell] of Object.entries(record)) expectCell(cell, rawAt(lines[at] ?? '', column))
})

describe('with formId', () => {
  test('each field code of the form has a column, and all other answers share one', async () => {
    const answer = await ask(`/api/v1/records?formId=${quiz}`)
    expect(headerOf(answer).filter((name) => name.startsWith('data'))).toEqual(['data.q2', 'data.q1', 'data.other'])
    const [empty, answered] = csvRecords(answer.text)
    expectCell(answered?.['id'], '"answered"')
    expect(asWritten(answered?.['data.q1']?.text ?? '')).toBe('=HYPERLINK("http://evil"),\r\nyes; -1')
    expect(answered?.['data.q1']?.text).toBe(`'=HYPERLINK("http://evil"),\r\nyes;' -1`)
    expect(answered?.['data.q2']).toEqual({ text: opaque, isQuoted: true })
    expect(answered?.['data.other']?.text).toBe('{"10":-5,"other":12345678901234567890.10}')
    for (const name of ['data.q2', 'data.q1', 'data.other', 'examinee.id']) expectCell(empty?.[name], undefined)
  })

  test.each(['none', 'of-others', 'no%20id'])('an unknown form, such as %s, gives a header line alone', async (id) => {
    const answer = await ask(`/api/v1/records?formId=${id}`)
    expect([answer.status, csvRows(answer.text)]).toEqual([200, [expect.anything()]])
    expect(headerOf(answer).filter((name) => name.startsWith('data'))).toEqual(['data.other'])
  })

  test('the columns stay the same when the form changes during the export', async () => {
    const id = 'changing'
    const store = (revision: number, code: string): Promise<void> =>
      api.replica.storeForms({ team, id, revision, entity: formEntity({ id, fields: [{ code }] }) })
    await store(1, 'before')
    const ids = Array.from({ length: 150 }, (_, at) => `of-changing-${at}`)
    const of = (record: string) => submissionEntity({ id: record, formId: id, data: { before: 1, after: 2 } })
    await api.replica.storeSubmissions(...ids.map((record) => ({ team, id: record, entity: of(record) })))
    const held = api.hold()
    const exporting = ask(`/api/v1/records?formId=${id}`)
    await held.untilReached()
    await store(2, 'after')
    held.goOn()
    const records = csvRecords((await exporting).text)
    expect(records).toHaveLength(150)
    for (const record of records) {
      expectCell(record['data.before'], '1')
      expect(record['data.other']?.text).toBe('{"after":2}')
    }
    const [record] = await recordsOf(`/api/v1/records?formId=${id}`)
    expectCell(record?.['data.after'], '2')
  })
})

test.each([
  [`/api/v1/records?formId=${quiz}`, 200],
  ['/api/v1/records', 304],
])('%s is answered in full after a change of submissions, and %i after a change of forms', async (path, afterForms) => {
  for (const [type, expected] of [['forms', afterForms] as const, ['submissions', 200] as const]) {
    const headers = { 'if-none-match': (await ask(path)).headers['etag'] ?? '' }
    expect((await ask(path, headers)).status).toBe(304)
    await api.replica.replaceChangeToken(`${type}/${team}`)
    expect((await ask(path, headers)).status).toBe(expected)
  }
})
