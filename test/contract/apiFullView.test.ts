import { toInstant } from '../../src/core/model/instant.ts'
import { linesOf, type TestAnswer } from '../support/api.ts'
import { formEntity, opaque, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { type Exchange, passes } from '../support/faultyElasticsearch.ts'
import { Gate } from '../support/gate.ts'
import { queryData } from '../support/queryData.ts'
import { useApi } from '../support/useApi.ts'

const ndjson = 'application/x-ndjson'
const [team, largeTeam] = ['acme', 'large']
const watermark = toInstant(Date.parse('2026-11-23T08:00:00.000Z'))
/** What an answer of Elasticsearch for several documents looks like, as a value that a respondent may send. */
const misleading = JSON.parse(
  '{"docs":[{"_index":"x","_id":"acme/k","_version":1,"found":true,"_source":{"a":1}},{"_index":"x","found":false}]}',
) as unknown

const api = useApi({
  teams: [team, largeTeam],
  fill: async (replica) => {
    await queryData(67).storeIn(replica)
    const data = JSON.parse(opaque) as unknown
    await replica.storeSubmissions(
      { team, id: 'misleading', entity: submissionEntity({ id: 'misleading', data: misleading }) },
      { team, id: 'opaque', entity: JSON.stringify(submissionEntity({ id: 'opaque' })).replace('"A"', opaque) },
      { team, id: 'pretty', entity: JSON.stringify(submissionEntity({ id: 'pretty', data }), null, 2) },
      ...Array.from({ length: 130 }, (_, at) => {
        const id = `s${at}`
        const submittedAt = toInstant(Date.parse('2026-01-01') + at)
        const reportResult = { aiSuggestion: { status: 'completed', content: 'x'.repeat(at * 1_000) } }
        return { team: largeTeam, id, entity: submissionEntity({ id, submittedAt, reportResult }) }
      }),
    )
    await replica.storeForms({ team, id: 'misleading', entity: formEntity({ id: 'misleading', report: misleading }) })
  },
  watermark,
  hasFaultyElasticsearch: true,
})

const ask = (path: string, as = team, headers: Readonly<Record<string, string>> = {}): Promise<TestAnswer> =>
  api.send(path, { key: api.keyOf(as), headers: { accept: ndjson, ...headers } })
const idsIn = (lines: readonly string[]): string[] => lines.map((line) => (JSON.parse(line) as { id: string }).id)
const full = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}view=full`

test.each([
  [team, '/api/v1/records'],
  [team, '/api/v1/forms'],
  [largeTeam, '/api/v1/records'],
])('every line of %s %s is what the endpoint of the single item answers, byte for byte', async (as, path) => {
  const lines = linesOf(await ask(full(path), as))
  expect(idsIn(lines)).toEqual(idsIn(linesOf(await ask(path, as))))
  for (const [at, id] of idsIn(lines).entries()) {
    const single = await api.send(`${path}/${encodeURIComponent(id)}`, { key: api.keyOf(as) })
    expect(lines[at]).toBe(single.text)
  }
})

test.each([
  '/api/v1/records?formId=f1',
  '/api/v1/records?status=completed&since=2026-03-01T10:00:00Z',
  '/api/v1/records?formId=none',
  '/api/v1/forms?titleContains=quzi',
  '/api/v1/forms?changedUntil=2026-11-20T12:00:00.001Z',
])('%s selects the same whole entities as summaries, in the same order', async (path) => {
  const answer = await ask(full(path))
  expect(idsIn(linesOf(answer))).toEqual(idsIn(linesOf(await ask(path))))
  expect(answer.headers['replica-watermark']).toBe(watermark)
  expect(answer.headers['content-type']).toBe(ndjson)
})

test('deletions follow whole entities as they follow summaries', async () => {
  const path = '/api/v1/records?changedSince=2026-11-20T12:00:00.001Z&includeDeleted=true'
  const deletions = (lines: readonly string[]): string[] => lines.filter((line) => line.endsWith('"deleted":true}'))
  const lines = linesOf(await ask(full(path)))
  expect(deletions(lines).length).toBeGreaterThan(0)
  expect(lines.slice(-deletions(lines).length)).toEqual(deletions(lines))
  expect(deletions(lines).sort()).toEqual(deletions(linesOf(await ask(path))).sort())
})

describe('while details change', () => {
  const firstMget = { times: 1 }

  test('an entity is at least as new as its row, and one that was deleted meanwhile is left out', async () => {
    const ids = ['changed', 'deleted']
    const of = (id: string, serialNumber: number, revision: number) => ({
      ...{ team, id, revision },
      entity: submissionEntity({ id, serialNumber, formId: 'of-change' }),
    })
    await api.replica.storeSubmissions(...ids.map((id) => of(id, 1, 1)))
    api.elasticsearch.inject(
      '/_mget',
      async (exchange) => {
        await api.replica.storeSubmissions(of('changed', 2, 2), { team, id: 'deleted', entity: null })
        exchange.reply(await exchange.ask())
      },
      firstMget,
    )
    const lines = linesOf(await ask('/api/v1/records?formId=of-change&view=full'))
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ id: 'changed', serialNumber: 2 }),
    ])
  })

  const withoutFirst = async (exchange: Exchange): Promise<void> => {
    const answer = await exchange.ask()
    const { docs } = JSON.parse(answer.body.toString()) as { docs: { _index: string; _id: string }[] }
    const hidden = docs.map((document, at) =>
      at === 0 ? { _index: document._index, _id: document._id, found: false } : document,
    )
    exchange.reply({ ...answer, body: Buffer.from(JSON.stringify({ docs: hidden })) })
  }

  test('a detail that is stored, but not yet searchable, is found', async () => {
    const expected = (await ask('/api/v1/records?formId=f1&view=full')).text
    const hiding = api.elasticsearch.inject('/_mget', withoutFirst, {
      when: ({ path }) => path.includes('realtime=false'),
    })
    expect((await ask('/api/v1/records?formId=f1&view=full')).text).toBe(expected)
    expect(hiding.met()).toBeGreaterThan(0)
  })

  test('a detail that is stored later is waited for', async () => {
    const expected = (await ask('/api/v1/records?formId=f1&view=full')).text
    api.elasticsearch.inject('/_mget', withoutFirst, { times: 4 })
    expect((await ask('/api/v1/records?formId=f1&view=full')).text).toBe(expected)
  })

  test('a row without any detail breaks the export off', async () => {
    api.elasticsearch.inject('/_mget', withoutFirst)
    expect((await ask('/api/v1/records?formId=f1&view=full')).status).toBe(503)
    await eventually(async () => (await api.replica.openContexts()) === 0)
  })
})

test('an export that fails on its way is broken off, and closes its snapshot', async () => {
  api.elasticsearch.inject('/_mget', ({ response }) => response.destroy(), {
    when: ({ body }) => !body.includes(`${largeTeam}/s129"`),
  })
  await expect(ask('/api/v1/records?view=full', largeTeam)).rejects.toThrow()
  await eventually(async () => (await api.replica.openContexts()) === 0)
})

test('parts are bounded by the bytes of the details, not by their number', async () => {
  const [asked, received]: [number[], number[]] = [[], []]
  api.elasticsearch.inject('/_mget', async (exchange) => {
    asked.push((JSON.parse(exchange.body.toString()) as { ids: string[] }).ids.length)
    const answer = await exchange.ask()
    received.push(answer.body.length)
    exchange.reply(answer)
  })
  expect(linesOf(await ask('/api/v1/records?view=full', largeTeam))).toHaveLength(130)
  // The newest have 130,000 bytes, the oldest few.
  expect(asked[0]).toBeLessThan(10)
  expect(asked.at(-1)).toBeGreaterThan(10)
  expect(Math.max(...received)).toBeLessThan(1.1 * 1024 * 1024)
})

test('an export of whole entities is of one moment', async () => {
  const before = linesOf(await ask('/api/v1/records?view=full'))
  const gate = new Gate()
  const fault = async (exchange: Exchange): Promise<void> => {
    await gate.pass()
    await passes(exchange)
  }
  const readsKeys = ({ path, body }: Exchange): boolean =>
    path.startsWith('/_search') && body.includes('"stored_fields":"_none_"')
  api.elasticsearch.inject('/_search', fault, { when: readsKeys })
  const exporting = ask('/api/v1/records?view=full')
  await gate.untilReached()
  const [id, submittedAt] = ['written-meanwhile', '1000-01-01T00:00:00.000Z']
  await api.replica.storeSubmissions({ team, id, entity: submissionEntity({ id, submittedAt }) })
  gate.open()
  expect(linesOf(await exporting)).toEqual(before)
})
