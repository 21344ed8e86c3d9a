import { useApi } from '../support/api.ts'
import { csvRecords } from '../support/csv.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { describeSpreadsheet, useSpreadsheet } from './support/spreadsheet.ts'

const team = 'team-1'
/** Texts that a spreadsheet runs as formulas unless prevented, even when not at the start of a cell. */
const formulas = [
  ...['=1+1', '+1+1', '-1+1', '@SUM(1;1)', ' =1+1', '\t=1+1', '\r=1+1', '\n=1+1', 'a;=1+1;b', 'a\n=1+1\nb'],
  ...['a\t=1+1\tb', '",=1+1,"', '";=1+1;"', '＝1+1'],
  ...['=HYPERLINK("http://127.0.0.1:9/?"&A1;"open")', "=cmd|'/c calc'!A0"],
]
const texts = ['日本語', 'Ольга', 'محمد', 'é “x”, y', 'two\nlines', "it's"]
const answerOf = (at: number): string => [...formulas, ...texts][at] ?? ''
const count = formulas.length + texts.length

const codes = ['text', 'number', 'list']
const api = useApi({
  forms: [{ team, id: 'quiz', entity: formEntity({ id: 'quiz', fields: codes.map((code) => ({ code })) }) }],
  submissions: Array.from({ length: count }, (_, at) => {
    const id = `s${at}`
    const data = { text: answerOf(at), number: at - 5.5, list: [answerOf(at)], '=1+1': answerOf(at) }
    return { team, id, entity: submissionEntity({ id, formId: 'quiz', data }) }
  }),
})

const read = async (): Promise<string> =>
  (await api.get('/api/v1/records?formId=quiz', { headers: { accept: 'text/csv' } })).text

describeSpreadsheet('LibreOffice', () => {
  const spreadsheet = useSpreadsheet()

  test.each([
    [',', '"x","=1+1"\r\n'],
    [';', '"x","a\n=1+1\nb"\r\n'],
  ])('with the separator %s, would run a formula without protection: %j', async (separator, csv) => {
    const { shown, formulas: found } = await spreadsheet.open(csv, separator)
    expect([shown, found]).toEqual([expect.stringMatching(/(?:^|,)2$/m), 1])
  })

  test('shows every cell of the exported CSV as text, and runs no formula', async () => {
    const sent = await read()
    const { shown, formulas: found } = await spreadsheet.open(sent, ',')
    expect(found).toBe(0)
    const [before, after] = [csvRecords(sent), csvRecords(shown, '\n')]
    expect(before).toHaveLength(count)
    expect(after).toHaveLength(count)
    for (const [at, record] of before.entries())
      for (const [column, { text }] of Object.entries(record))
        expect([column, after[at]?.[column]?.text]).toEqual([column, text.replace(/\r\n?/g, '\n')])
  })

  test.each([';', '\t', ';\t,'])('runs no formula with the separators %j either', async (separators) => {
    expect(await spreadsheet.countFormulas(await read(), separators)).toBe(0)
  })
})
