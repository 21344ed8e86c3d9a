import { cp } from 'node:fs/promises'
import { resolve } from 'node:path'
import { deleted, existing, startChangesServer } from '../support/changesServer.ts'
import { useStarted } from '../support/lifecycle.ts'
import { deepAnswers, oddHistory } from '../support/oddHistory.ts'
import type { HistoryRecord, Json } from '../support/randomHistory.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { jsonLines, listAfter, loadedByDlt, manyDigitsRecord, servedRow } from './support/warehouse.ts'

const team = 'acme'

const { tools, pipeline, api } = usePythonPipeline()
const feed = useStarted('the server of changes', startChangesServer)

describePython('The dlt source', () => {
  beforeAll(async () => {
    const [site, source] = [resolve(tools.folder, 'site'), resolve(tools.folder, 'package')]
    await cp('connectors/dlt', source, { recursive: true })
    await tools.run('pip', ['install', '--quiet', '--no-deps', '--target', site, source])
  })

  test('after several loads, the warehouse has exactly the entities that exist', async () => {
    const history = oddHistory(7, 900)
    await pipeline.createKeys(history.teams)
    const steps = [history.records.slice(0, 700), history.records.slice(700, 1_100), history.records.slice(1_100), []]
    let known = history.records.slice(0, 0)
    for (const records of steps) {
      known = [...known, ...records]
      await pipeline.produceHistory(records)
      await pipeline.untilApplied(api, team)
      await load('warehouse.duckdb')
      expect(await rows('forms')).toEqual(loadedByDlt(listAfter(known, 'forms', team)))
      expect(await rows('records')).toEqual(loadedByDlt(listAfter(known, 'records', team)))
    }
    const isDeletion = ({ key, value }: HistoryRecord) => value === null && key.toString().startsWith(`${team}/`)
    expect(history.records.some(isDeletion)).toBe(true)

    await pipeline.produce('submissions', [manyDigitsRecord(team, 'deep', deepAnswers)])
    await pipeline.untilApplied(api, team)
    await load('warehouse.duckdb')
    const deep = (await rows('records')).find(({ id }) => id === 'deep')
    // The innermost levels are a text.
    expect(JSON.stringify(deep.data).replaceAll('"', '')).toBe(deepAnswers.replaceAll('"', ''))
    await pipeline.produce('submissions', [{ key: `${team}/deep`, value: null }])
    await pipeline.untilApplied(api, team)

    await load('few.duckdb', 'formId,result.status')
    const few = listAfter(known, 'records', team).map(({ id, formId, result }) => {
      return { id, formId, result: result && { status: result.status } }
    })
    expect(await rows('records', 'few.duckdb')).toEqual(few)
  })

  test('a load reads all pages, waits as long as Retry-After demands, and continues from the last cursor', async () => {
    const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toUTCString()
    feed.willAnswer([
      { items: [existing('a'), existing('b')], cursor: '1', hasMore: true },
      { status: 429, retryAfter: '1' },
      { status: 503, retryAfter: inSeconds(2) },
      { items: [existing('c')], cursor: '2' },
    ])
    await loadFromFeed('pages')
    expect(feed.asked()).toEqual(['none', '1', '1', '1'])
    expect(await ids('pages')).toEqual(['a', 'b', 'c'])

    feed.willAnswer([{ items: [deleted('a'), existing('d')], cursor: '3' }])
    await loadFromFeed('pages')
    expect(feed.asked()).toEqual(['2'])
    expect(await ids('pages')).toEqual(['b', 'c', 'd'])
  })

  test('after an expired cursor, a load reads everything and removes entities that it does not receive', async () => {
    feed.willAnswer([{ items: [existing('a'), existing('b')], cursor: '1' }])
    await loadFromFeed('expired')
    feed.willAnswer([
      { status: 410 },
      { items: [existing('b')], cursor: '2', hasMore: true },
      { items: [existing('c')], cursor: '3' },
    ])
    await loadFromFeed('expired')
    expect(feed.asked()).toEqual(['1', 'none', '2'])
    expect(await ids('expired')).toEqual(['b', 'c'])

    feed.willAnswer([{ items: [existing('a'), deleted('b')], cursor: '4' }])
    await loadFromFeed('expired')
    expect(await ids('expired')).toEqual(['a', 'c'])

    feed.willAnswer([{ status: 410 }, { items: [], cursor: '5' }])
    await loadFromFeed('expired')
    expect(await ids('expired')).toEqual([])
  })

  test('a load whose cursor expires midway fails and leaves the table as it was; the next load repairs it', async () => {
    feed.willAnswer([{ items: [existing('a'), existing('b')], cursor: '1' }])
    await loadFromFeed('midway')
    feed.willAnswer([{ items: [existing('c')], cursor: '2', hasMore: true }, { status: 410 }])
    await expect(loadFromFeed('midway')).rejects.toThrow(/the next run begins anew/)
    expect(await ids('midway')).toEqual(['a', 'b'])

    feed.willAnswer([{ status: 410 }, { items: [existing('b')], cursor: '3' }])
    await loadFromFeed('midway')
    expect(feed.asked()).toEqual(['1', 'none'])
    expect(await ids('midway')).toEqual(['b'])
  })

  test('a load with other fields starts anew', async () => {
    feed.willAnswer([{ items: [existing('a'), existing('b')], cursor: '1' }])
    await loadFromFeed('fields')
    feed.willAnswer([{ items: [existing('b')], cursor: '2' }])
    await loadFromFeed('fields', 'formId')
    expect(feed.asked()).toEqual(['none'])
    expect(await ids('fields')).toEqual(['b'])
  })

  test('a load whose request is refused ends at once with the message of the API', async () => {
    feed.willAnswer([{ status: 401 }])
    await expect(loadFromFeed('refused')).rejects.toThrow(/message of 401/)
    expect(feed.asked()).toEqual(['none'])
  })
})

const load = (file: string, ...fields: string[]): Promise<string> =>
  loadFrom(`${api.url}/api/v1`, pipeline.keyOf(team), [file, ...fields])

const loadFromFeed = (name: string, ...fields: string[]): Promise<string> =>
  loadFrom(feed.url, 'key', [`${name}.duckdb`, ...fields])

const ids = async (name: string): Promise<string[]> => (await rows('records', `${name}.duckdb`)).map(({ id }) => id)

const loadFrom = (url: string, accountKey: string, args: readonly string[]): Promise<string> =>
  tools.runScript('test/foreign/python/load_with_dlt.py', args, {
    PYTHONPATH: resolve(tools.folder, 'site'),
    TIDEMARK_URL: url,
    TIDEMARK_KEY: accountKey,
    DLT_DATA_DIR: resolve(tools.folder, 'dlt'),
    RUNTIME__DLTHUB_TELEMETRY: 'false',
    RUNTIME__LOG_LEVEL: 'ERROR',
  })

/** The rows of a table, ordered by id, without dlt's own columns and those of the change feed. */
async function rows(table: 'forms' | 'records', file = 'warehouse.duckdb'): Promise<Json[]> {
  const said = await tools.runScript('test/foreign/python/read_table.py', [file, table])
  return jsonLines(said).map(({ _dlt_id, _dlt_load_id, changed_at, deleted: _isNot, ...row }) => servedRow(row))
}
