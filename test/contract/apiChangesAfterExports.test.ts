import { toInstant } from '../../src/core/model/instant.ts'
import { linesOf, type TestAnswer, useApi } from '../support/api.ts'
import { namesOf, rowsOf, walkChanges } from '../support/changeFeed.ts'
import { csvRecords } from '../support/csv.ts'
import { submissionEntity } from '../support/entities.ts'
import type { Exchange } from '../support/faultyElasticsearch.ts'

const team = 'team-1'
const [ndjson, csv] = ['application/x-ndjson', 'text/csv']
const [list, feed] = ['/api/v1/records', '/api/v1/record-changes']

const api = useApi({
  submissions: [{ team, id: 'first', entity: submissionEntity({ id: 'first' }) }],
  watermark: toInstant(0),
  hasFaultyElasticsearch: true,
})

const ask = (target: string): Promise<TestAnswer> => api.get(target)
const exported = (query = '', accept = ndjson): Promise<TestAnswer> => api.get(list + query, { headers: { accept } })
const changesAfter = async ({ headers }: TestAnswer, query = '?limit=1'): Promise<readonly string[]> =>
  namesOf(rowsOf(await walkChanges(ask, feed + query, headers['changes-cursor'])))

/** Makes a submission visible, or deletes it; `publish: false` leaves out its position, as an indexer does between a refresh and its round. */
async function store(id: string, { entity = submissionEntity({ id }) as object | null, publish = true } = {}) {
  await api.replica.storeSubmissions({ team, id, entity: entity as Readonly<Record<string, unknown>> | null })
  if (publish) await api.replica.publishPositions(toInstant(1), { lists: [`submissions/${team}`] })
}

test.each([
  [
    ndjson,
    ({ text }: TestAnswer) =>
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as { id: string }).id),
  ],
  [csv, ({ text }: TestAnswer) => csvRecords(text).map(({ id }) => id?.text ?? '')],
] as const)(
  'after an export as %s, the feed has the items that the export lacks, and deletions of items that it has',
  async (accept, idsIn) => {
    const [kept, deleted, added] = ['kept', 'deleted', 'added'].map((name) => `${name}-${accept.length}`) as [
      string,
      string,
      string,
    ]
    await store(kept)
    await store(deleted)
    const answer = await exported('', accept)
    expect(answer.status).toBe(200)
    expect(idsIn(answer)).toEqual(expect.arrayContaining([kept, deleted]))
    expect(await changesAfter(answer)).toEqual([])
    await store(deleted, { entity: null })
    await store(added)
    expect(await changesAfter(answer)).toEqual([`-${deleted}`, added])
  },
)

test('an item that an export shows before its position is published comes again in the feed', async () => {
  await store('early', { publish: false })
  const answer = await exported()
  expect(linesOf(answer).join()).toContain('"early"')
  await store('later')
  expect(await changesAfter(answer)).toEqual(['early', 'later'])
})

test.each([
  ['before', true],
  ['after', false],
])(
  'an item that becomes visible %s the snapshot of an export is opened comes in the feed after the export',
  async (when, isHeld) => {
    const id = `${when}-snapshot`
    const openSnapshot = async (exchange: Exchange): Promise<void> => {
      if (isHeld) await store(id)
      const opened = await exchange.ask()
      if (!isHeld) await store(id)
      exchange.reply(opened)
    }
    api.elasticsearch.inject('/_pit', openSnapshot, { times: 1 })
    const answer = await exported()
    expect(linesOf(answer).some((line) => line.includes(id))).toBe(isHeld)
    expect(await changesAfter(answer)).toEqual([id])
  },
)

test('lists, items, counts, exports and the feed read the indices that Redis names, wherever aliases point', async () => {
  const { headers } = await exported()
  await store('elsewhere')
  await api.replica.misleadAlias('submissions')
  try {
    const answer = await exported()
    expect(linesOf(answer).join()).toContain('"elsewhere"')
    expect(await changesAfter({ ...answer, headers })).toEqual(['elsewhere'])
    for (const path of ['records?limit=99', 'records/elsewhere', 'record-counts?by=status'])
      expect((await api.get(`/api/v1/${path}`)).status).toBe(200)
  } finally {
    await api.replica.restoreAlias('submissions')
  }
})

test('the cursor of an export is valid for the same view and fields only', async () => {
  const query = '?view=full&fields=reportResult.status'
  const answer = await exported(query)
  await store('whole')
  const row = { id: 'whole', changedAt: expect.any(String), deleted: false, reportResult: { status: 'completed' } }
  const pages = await walkChanges(ask, feed + query, answer.headers['changes-cursor'])
  expect(rowsOf(pages)).toEqual([row])
  expect((await api.get(`${feed}?cursor=${answer.headers['changes-cursor']}`)).status).toBe(400)
})

test('a page has no Changes-Cursor, nor has an export that is answered 304, 400 or 503', async () => {
  const { headers } = await exported()
  const requests = [
    [list, {}, 200],
    [`${list}?limit=1`, { accept: ndjson }, 400],
    [list, { accept: ndjson, 'if-none-match': headers['etag'] ?? '' }, 304],
  ] as const
  for (const [target, sent, status] of requests) {
    const answer = await api.get(target, { headers: sent })
    expect([answer.status, answer.headers['changes-cursor']]).toEqual([status, undefined])
  }
  await api.elasticsearch.refuse()
  const failed = await exported()
  await api.elasticsearch.accept()
  expect([failed.status, failed.headers['changes-cursor']]).toEqual([503, undefined])
})

test('HEAD of an export has a Changes-Cursor', async () => {
  const answer = await api.get(list, { method: 'HEAD', headers: { accept: ndjson } })
  expect(await changesAfter(answer)).toEqual([])
})

test('an export is served without a Changes-Cursor while positions are unknown', async () => {
  await api.replica.setPosition('submissions', 0, null)
  const answer = await exported()
  expect(answer.headers).not.toHaveProperty('changes-cursor')
  expect(linesOf(answer).join()).toContain('"first"')
})
