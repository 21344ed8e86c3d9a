import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type ChangesAnswer, deleted, existing, startChangesServer } from '../support/changesServer.ts'
import { useStarted } from '../support/lifecycle.ts'
import { oddHistory } from '../support/oddHistory.ts'
import type { Json } from '../support/randomHistory.ts'
import { describePostgresql, startPostgresql } from './support/postgresql.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { listAfter, messageLines, readPythonJson } from './support/warehouse.ts'

const team = 'acme'
const lists = ['forms', 'records'] as const
type List = (typeof lists)[number]

const { tools, pipeline, api } = usePythonPipeline('singer')
const feed = useStarted('the server of changes', startChangesServer)

type Source = { readonly url: string; readonly accountKey: string }

/** Runs tap-rest-api-msdk with a configuration of connectors/singer; returns its messages. */
async function tap(configuration: string, { url, accountKey }: Source, state?: Json): Promise<Json[]> {
  const stored = resolve(tools.folder, 'state.json')
  if (state !== undefined) await writeFile(stored, JSON.stringify(state))
  const config = ['--config', 'ENV', '--config', resolve('connectors/singer', `${configuration}.json`)]
  const said = await tools.run('tap-rest-api-msdk', [...config, ...(state === undefined ? [] : ['--state', stored])], {
    TAP_REST_API_MSDK_API_URL: `${url}/api/v1/`,
    TAP_REST_API_MSDK_BEARER_TOKEN: accountKey,
  })
  return messageLines(said)
}

/** A table of pages, each with its rows as JSON, and what the state of the tap was last. */
class Pages {
  readonly rows = new Map<string, Json>()
  #state: Json | undefined

  async load(list: List, source: Source): Promise<void> {
    const messages = await tap(list, source, this.#state)
    for (const { type, record, value } of messages) {
      if (type === 'STATE') this.#state = value
      if (type === 'RECORD') for (const row of readPythonJson(record.items)) this.#apply(row)
    }
  }

  #apply({ changedAt, deleted: isDeleted, ...row }: Json): void {
    if (isDeleted) this.rows.delete(row.id)
    else this.rows.set(row.id, row)
  }

  items(): Json[] {
    return [...this.rows.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }
}

/** What one run reads into the columns of a table. */
async function everything(list: List, source: Source): Promise<Json[]> {
  const nested = list === 'forms' ? ['localization'] : ['examinee', 'metadata', 'data', 'result']
  const messages = await tap('everything', source)
  const records = messages.filter(({ type, stream }) => type === 'RECORD' && stream === list)
  const rows = records.map(({ record: { changedAt, ...row } }) => ({
    ...row,
    ...Object.fromEntries(nested.map((name) => [name, readPythonJson(row[name])])),
  }))
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** A page as targets store it that add the metadata of the Singer SDK. */
const insertion = ({ record: { cursor, hasMore, items }, time_extracted }: Json): string =>
  `INSERT INTO record_pages VALUES ('${cursor}', ${hasMore}, '${items.replaceAll("'", "''")}', '${time_extracted}');`

describePostgresql('The view of connectors/singer/records.sql', () => {
  const database = useStarted('PostgreSQL', startPostgresql)

  test('has each submission once, in its newest state', async () => {
    feed.willAnswer([
      { items: [existing('a'), existing('b'), existing('c')], cursor: '1', hasMore: true },
      { items: [{ ...existing('d'), data: { q1: "it's \0 and \\u0000" } }], cursor: '2' },
      { items: [{ ...existing('b'), data: { q1: 'new' } }, deleted('a')], cursor: '3' },
      { items: [], cursor: '4' },
    ])
    const messages = await tap('records', { url: feed.url, accountKey: 'key' })
    const pages = messages.filter(({ type }) => type === 'RECORD').map(insertion)
    const beyond = `INSERT INTO record_pages VALUES ('5', false, '[{"id": "e", "deleted": false, "data": {"a": Infinity, "b": [-Infinity, 1]}}]', now());`
    const columns = 'cursor text PRIMARY KEY, hasmore boolean, items text, _sdc_extracted_at timestamptz'
    await database.run(`CREATE TABLE record_pages (${columns}); ${[beyond, ...pages.reverse()].join(' ')}`)
    await database.run(await readFile('connectors/singer/records.sql', 'utf8'))
    const found = await database.run(`SELECT item ->> 'id', item -> 'data' FROM records ORDER BY 1`)
    expect(found.split('\n')).toEqual([
      'b|{"q1": "new"}',
      'c|',
      String.raw`d|{"q1": "it's \ufffd and \\u0000"}`,
      'e|{"a": "Infinity", "b": ["-Infinity", 1]}',
    ])
  })
})

describePython('The Singer tap tap-rest-api-msdk', () => {
  test('after several runs, the target has exactly the entities that exist, also after a run that reads everything', async () => {
    const history = oddHistory(19, 600)
    await pipeline.createKeys(history.teams)
    const source = { url: api.url, accountKey: pipeline.keyOf(team) }
    const pages = { forms: new Pages(), records: new Pages() }
    const steps = [history.records.slice(0, 500), history.records.slice(500, 900), history.records.slice(900), []]
    let known = history.records.slice(0, 0)
    for (const records of steps) {
      known = [...known, ...records]
      await pipeline.produceHistory(records)
      await pipeline.untilApplied(api, team)
      for (const list of lists) {
        await pages[list].load(list, source)
        expect(pages[list].items()).toEqual(listAfter(known, list, team))
      }
    }
    for (const list of lists) expect(await everything(list, source)).toEqual(listAfter(known, list, team))
  })

  const source = (): Source => ({ url: feed.url, accountKey: 'key' })
  const end: ChangesAnswer = { items: [], cursor: 'end' }

  test('a run reads until a page is empty and waits as long as Retry-After demands, and the next run misses nothing', async () => {
    const pages = new Pages()
    feed.willAnswer([
      { items: [existing('a'), existing('b')], cursor: '1', hasMore: true },
      { status: 429, retryAfter: '2' },
      { status: 503, retryAfter: '1' },
      { items: [existing('c')], cursor: '2' },
      { items: [], cursor: '0' },
    ])
    await pages.load('records', source())
    expect(feed.asked()).toEqual(['none', '1', '1', '1', '2'])
    expect([...pages.rows.keys()]).toEqual(['a', 'b', 'c'])

    // It keeps the greatest cursor of a run, which may be one of an earlier page: what came behind it is read again.
    feed.willAnswer([{ items: [deleted('a'), existing('d')], cursor: '3' }, end])
    await pages.load('records', source())
    expect(feed.asked()).toEqual(['2', '3'])
    expect([...pages.rows.keys()]).toEqual(['b', 'c', 'd'])
  })

  test('a run that fails midway is repeated from its beginning', async () => {
    const pages = new Pages()
    feed.willAnswer([
      { items: [existing('a')], cursor: '1' },
      { items: [], cursor: '1b' },
    ])
    await pages.load('records', source())
    feed.willAnswer([{ items: [existing('b')], cursor: '2', hasMore: true }, { status: 401 }])
    await expect(pages.load('records', source())).rejects.toThrow(/401 Client Error/)
    feed.willAnswer([{ items: [existing('b')], cursor: '2' }, end])
    await pages.load('records', source())
    expect(feed.asked()).toEqual(['1b', '2'])
  })

  test('a run with an expired cursor fails; the next run, without its state, reads everything', async () => {
    const pages = new Pages()
    feed.willAnswer([
      { items: [existing('a')], cursor: '1' },
      { items: [], cursor: '1b' },
    ])
    await pages.load('records', source())
    feed.willAnswer([{ status: 410 }])
    await expect(pages.load('records', source())).rejects.toThrow(/410 Client Error/)
    expect(feed.asked()).toEqual(['1b'])

    const anew = new Pages()
    feed.willAnswer([{ items: [existing('b')], cursor: '2' }, end])
    await anew.load('records', source())
    expect(feed.asked()).toEqual(['none', '2'])
  })
})
