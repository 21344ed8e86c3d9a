import { cp } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Json, randomHistory } from '../support/randomHistory.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { listAfter, servedRow } from './support/warehouse.ts'

const deadlineMs = 120_000
const testTimeoutMs = 400_000
const team = 'acme'

const opened = usePythonPipeline()

describePython('The dlt source', () => {
  test(
    'a warehouse that the dlt source loads again and again equals the fold of the topics, without what was deleted',
    async () => {
      const { pipeline, api, folder, tools } = opened
      await cp('connectors/dlt', resolve(folder, 'package'), { recursive: true })
      const install = [
        'install',
        '--quiet',
        '--no-deps',
        '--target',
        resolve(folder, 'site'),
        resolve(folder, 'package'),
      ]
      await tools.run('pip', install, { folder, deadlineMs })

      const history = randomHistory(7, 900)
      await pipeline.createKeys(history.teams)
      const steps = [history.records.slice(0, 400), history.records.slice(400, 650), history.records.slice(650), []]
      let known = history.records.slice(0, 0)
      for (const records of steps) {
        known = [...known, ...records]
        await pipeline.produceHistory(records)
        await pipeline.untilApplied(api, team)
        await load()
        expect(await rows('forms')).toEqual(listAfter(known, 'forms', team))
        expect(await rows('records')).toEqual(listAfter(known, 'submissions', team))
      }
      expect(history.records.some(({ key, value }) => value === null && key.toString().startsWith(`${team}/`))).toBe(
        true,
      )
    },
    testTimeoutMs,
  )
})

async function load(): Promise<void> {
  const { pipeline, api, folder } = opened
  await python('load_with_dlt.py', ['warehouse.duckdb'], {
    PYTHONPATH: resolve(folder, 'site'),
    TIDEMARK_URL: `${api.url}/api/v1`,
    TIDEMARK_KEY: pipeline.keyOf(team),
    DLT_DATA_DIR: resolve(folder, 'dlt'),
    RUNTIME__DLTHUB_TELEMETRY: 'false',
    RUNTIME__LOG_LEVEL: 'ERROR',
  })
}

/** A table of the warehouse by id, without what dlt notes about its own runs. */
async function rows(table: 'forms' | 'records'): Promise<Json[]> {
  const lines = (await python('read_table.py', ['warehouse.duckdb', table])).trim().split('\n')
  return lines.map((line) => {
    const { _dlt_id, _dlt_load_id, deleted, ...row } = JSON.parse(line) as Json
    return servedRow(row)
  })
}

const python = (script: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> =>
  opened.tools.run('python', [resolve('test/foreign/python', script), ...args], {
    folder: opened.folder,
    env,
    deadlineMs,
  })
