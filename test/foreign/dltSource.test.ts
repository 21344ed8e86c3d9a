import { cp } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type HistoryRecord, type Json, randomHistory } from '../support/randomHistory.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { jsonLines, listAfter, manyDigitsRecord, servedRow } from './support/warehouse.ts'

const team = 'acme'

const { tools, pipeline, api } = usePythonPipeline()

describePython('The dlt source', () => {
  test('after several loads, the warehouse holds exactly the entities that exist', async () => {
    const { folder } = tools
    await cp('connectors/dlt', resolve(folder, 'package'), { recursive: true })
    const [site, source] = [resolve(folder, 'site'), resolve(folder, 'package')]
    await tools.run('pip', ['install', '--quiet', '--no-deps', '--target', site, source])

    const history = randomHistory(7, 900)
    await pipeline.createKeys(history.teams)
    const steps = [history.records.slice(0, 400), history.records.slice(400, 650), history.records.slice(650), []]
    let known = history.records.slice(0, 0)
    for (const records of steps) {
      known = [...known, ...records]
      await pipeline.produceHistory(records)
      await pipeline.untilApplied(api, team)
      await load('warehouse.duckdb')
      expect(await rows('forms')).toEqual(listAfter(known, 'forms', team))
      expect(await rows('records')).toEqual(listAfter(known, 'records', team))
    }
    const isDeletion = ({ key, value }: HistoryRecord) => value === null && key.toString().startsWith(`${team}/`)
    expect(history.records.some(isDeletion)).toBe(true)

    await pipeline.produce('submissions', [manyDigitsRecord(team, 'digits')])
    await pipeline.untilApplied(api, team)
    await load('warehouse.duckdb')
    const [{ serialNumber, data }] = (await rows('records')).filter(({ id }) => id === 'digits')
    expect({ serialNumber, data }).toEqual({
      serialNumber: Number.MAX_SAFE_INTEGER,
      data: { double: 0.7, long: '12345678901234567890123', beyond: '1e400' },
    })
    await pipeline.produce('submissions', [{ key: `${team}/digits`, value: null }])
    await pipeline.untilApplied(api, team)

    await load('few.duckdb', 'formId,result.status')
    const few = listAfter(known, 'records', team).map(({ id, formId, result }) => {
      return { id, formId, result: result && { status: result.status } }
    })
    expect(await rows('records', 'few.duckdb')).toEqual(few)
  })
})

const load = (...args: string[]): Promise<string> =>
  tools.runScript('test/foreign/python/load_with_dlt.py', args, {
    PYTHONPATH: resolve(tools.folder, 'site'),
    TIDEMARK_URL: `${api.url}/api/v1`,
    TIDEMARK_KEY: pipeline.keyOf(team),
    DLT_DATA_DIR: resolve(tools.folder, 'dlt'),
    RUNTIME__DLTHUB_TELEMETRY: 'false',
    RUNTIME__LOG_LEVEL: 'ERROR',
  })

/** The rows of a table, ordered by id, without dlt's own columns. */
async function rows(table: 'forms' | 'records', file = 'warehouse.duckdb'): Promise<Json[]> {
  const said = await tools.runScript('test/foreign/python/read_table.py', [file, table])
  return jsonLines(said).map(({ _dlt_id, _dlt_load_id, deleted, ...row }) => servedRow(row))
}
