import { rawElements, rawMembers } from '../../src/core/json/rawJson.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import { linesOf, type TestAnswer, useApi } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import type { Exchange } from '../support/faultyElasticsearch.ts'
import { queryData } from '../support/queryData.ts'

const ndjson = 'application/x-ndjson'
const team = 'acme'
const watermark = toInstant(Date.parse('2026-11-23T08:00:00.000Z'))
/** What an answer of Elasticsearch for several documents looks like, as a value that a respondent may send. */
const misleading = JSON.parse(
  '{"docs":[{"_index":"x","_id":"acme/k","_version":1,"found":true,"_source":{"a":1}},{"_index":"x","found":false}]}',
) as unknown

const api = useApi({
  teams: [team],
  fill: async (replica) => {
    await queryData(67).storeIn(replica)
    const id = 'misleading'
    await replica.storeSubmissions({ team, id, entity: submissionEntity({ id, data: misleading }) })
    await replica.storeForms({ team, id, entity: formEntity({ id, report: misleading }) })
  },
  watermark,
  hasFaultyElasticsearch: true,
})

const ask = (path: string): Promise<TestAnswer> => api.get(path, { headers: { accept: ndjson } })
const idsIn = (lines: readonly string[]): string[] => lines.map((line) => (JSON.parse(line) as { id: string }).id)
const full = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}view=full`

test.each([
  ...['/api/v1/records', '/api/v1/records?formId=f1', '/api/v1/records?status=completed&since=2026-03-01T10:00:00Z'],
  ...['/api/v1/forms', '/api/v1/forms?titleContains=quzi'],
])("every line of %s equals the answer of its item's own endpoint, in the order of the list", async (path) => {
  const answer = await ask(full(path))
  const lines = linesOf(answer)
  expect(idsIn(lines)).toEqual(idsIn(linesOf(await ask(path))))
  expect(answer.headers).toMatchObject({ 'replica-watermark': watermark, 'content-type': ndjson })
  for (const [at, id] of idsIn(lines).entries())
    expect(lines[at]).toBe((await api.get(`${path.split('?')[0]}/${encodeURIComponent(id)}`)).text)
})

describe('while details change', () => {
  test('an entity is at least as new as its row, and one that was deleted meanwhile is left out', async () => {
    const ids = ['changed', 'deleted']
    const of = (id: string, serialNumber: number, revision: number) => ({
      ...{ team, id, revision },
      entity: submissionEntity({ id, serialNumber, formId: 'of-change' }),
    })
    await api.replica.storeSubmissions(...ids.map((id) => of(id, 1, 1)))
    const change = async (exchange: Exchange): Promise<void> => {
      await api.replica.storeSubmissions(of('changed', 2, 2), { team, id: 'deleted', entity: null })
      exchange.reply(await exchange.ask())
    }
    api.elasticsearch.inject('/_mget', change, { times: 1 })
    const lines = linesOf(await ask('/api/v1/records?formId=of-change&view=full'))
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ id: 'changed', serialNumber: 2 }])
  })

  const withoutFirst = async (exchange: Exchange): Promise<void> => {
    const answer = await exchange.ask()
    const [first = '', ...others] = rawElements(rawMembers(answer.body.toString()).get('docs') ?? '')
    const { _index, _id } = JSON.parse(first) as { _index: string; _id: string }
    const hidden = JSON.stringify({ _index, _id, found: false })
    exchange.reply({ ...answer, body: Buffer.from(`{"docs":[${[hidden, ...others].join()}]}`) })
  }

  test('an entity is exported as stored, also where its new state is not searchable yet', async () => {
    const expected = (await ask('/api/v1/records?formId=f1&view=full')).text
    const when = ({ path }: { path: string }): boolean => path.includes('realtime=false')
    const hiding = api.elasticsearch.inject('/_mget', withoutFirst, { when })
    expect((await ask('/api/v1/records?formId=f1&view=full')).text).toBe(expected)
    expect(hiding.met()).toBeGreaterThan(0)
  })

  test('an export fails if a row has no detail document', async () => {
    api.elasticsearch.inject('/_mget', withoutFirst)
    expect((await ask('/api/v1/records?formId=f1&view=full')).status).toBe(503)
    await eventually(async () => (await api.replica.openContexts()) === 0)
  })
})
