import { resolve } from 'node:path'
import { deleted, existing, startChangesServer } from '../support/changesServer.ts'
import { useStarted } from '../support/lifecycle.ts'
import { oddHistory } from '../support/oddHistory.ts'
import type { Json } from '../support/randomHistory.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { jsonLines, listAfter, loadedByDlt, servedRow } from './support/warehouse.ts'

const team = 'acme'

const { tools, pipeline, api } = usePythonPipeline()
const feed = useStarted('the server of changes', startChangesServer)

describePython("dlt's own rest_api source, with the configuration of connectors/dlt/rest_api.py", () => {
  test('after several loads, the warehouse has exactly the entities that exist', async () => {
    const history = oddHistory(17, 600)
    await pipeline.createKeys(history.teams)
    const steps = [history.records.slice(0, 500), history.records.slice(500, 900), history.records.slice(900), []]
    let known = history.records.slice(0, 0)
    for (const records of steps) {
      known = [...known, ...records]
      await pipeline.produceHistory(records)
      await pipeline.untilApplied(api, team)
      await load('warehouse', api.url, pipeline.keyOf(team))
      for (const table of ['forms', 'records'] as const)
        expect(await rows(table, 'warehouse')).toEqual(loadedByDlt(listAfter(known, table, team)))
    }
  })

  test('a load reads all pages, waits as long as Retry-After demands, and continues from the last cursor', async () => {
    feed.willAnswer([
      { items: [existing('a'), existing('b')], cursor: 'z', hasMore: true },
      { status: 429, retryAfter: '1' },
      { status: 503, retryAfter: new Date(Date.now() + 5_000).toUTCString() },
      { items: [existing('c')], cursor: 'a' },
    ])
    await loadFromFeed('pages')
    expect(feed.asked()).toEqual(['none', 'z', 'z', 'z'])
    expect(await ids('pages')).toEqual(['a', 'b', 'c'])

    feed.willAnswer([{ items: [deleted('a'), existing('d')], cursor: '3' }])
    await loadFromFeed('pages')
    expect(feed.asked()).toEqual(['a'])
    expect(await ids('pages')).toEqual(['b', 'c', 'd'])

    feed.willAnswer([{ items: [], cursor: '4' }])
    await loadFromFeed('pages')
    expect(feed.asked()).toEqual(['3'])
    expect(await ids('pages')).toEqual(['b', 'c', 'd'])
  })

  test('a load that fails midway leaves the table and the cursor as they were', async () => {
    feed.willAnswer([{ items: [existing('a'), existing('b')], cursor: '1' }])
    await loadFromFeed('midway')
    feed.willAnswer([{ items: [existing('c'), deleted('a')], cursor: '2', hasMore: true }, { status: 401 }])
    await expect(loadFromFeed('midway')).rejects.toThrow(/401/)
    expect(await ids('midway')).toEqual(['a', 'b'])

    feed.willAnswer([{ items: [existing('c'), deleted('a')], cursor: '3' }])
    await loadFromFeed('midway')
    expect(feed.asked()).toEqual(['1'])
    expect(await ids('midway')).toEqual(['b', 'c'])
  })

  test('a load with an expired cursor fails; a load that starts anew replaces the table', async () => {
    feed.willAnswer([{ items: [existing('a'), existing('b')], cursor: '1' }])
    await loadFromFeed('expired')
    feed.willAnswer([{ status: 410 }])
    await expect(loadFromFeed('expired')).rejects.toThrow(/410/)
    expect(await ids('expired')).toEqual(['a', 'b'])

    feed.willAnswer([{ items: [existing('b'), existing('c')], cursor: '2' }])
    await loadFromFeed('expired', 'anew')
    expect(feed.asked()).toEqual(['none'])
    expect(await ids('expired')).toEqual(['b', 'c'])

    feed.willAnswer([{ items: [deleted('b')], cursor: '3' }])
    await loadFromFeed('expired')
    expect(feed.asked()).toEqual(['2'])
    expect(await ids('expired')).toEqual(['c'])
  })
})

const loadFromFeed = (name: string, ...args: string[]): Promise<string> => load(name, feed.url, 'key', args)

const load = (name: string, url: string, accountKey: string, args: readonly string[] = []): Promise<string> =>
  tools.runScript('connectors/dlt/rest_api.py', args, {
    TIDEMARK_URL: `${url}/api/v1`,
    TIDEMARK_KEY: accountKey,
    // Each name has a pipeline and a database of its own.
    DLT_DATA_DIR: resolve(tools.folder, name),
    DESTINATION__DUCKDB__CREDENTIALS: resolve(tools.folder, `${name}.duckdb`),
    RUNTIME__DLTHUB_TELEMETRY: 'false',
    RUNTIME__LOG_LEVEL: 'ERROR',
  })

const ids = async (name: string): Promise<string[]> => (await rows('records', name)).map(({ id }) => id)

/** The rows of a table, ordered by id, without dlt's own columns and those of the change feed. */
async function rows(table: 'forms' | 'records', name: string): Promise<Json[]> {
  const said = await tools.runScript('test/foreign/python/read_table.py', [`${name}.duckdb`, table])
  return jsonLines(said).map(({ _dlt_id, _dlt_load_id, changed_at, deleted: _isNot, page_cursor, ...row }) =>
    servedRow(row),
  )
}
