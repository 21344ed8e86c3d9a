import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { oddHistory } from '../support/oddHistory.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { jsonLines, listAfter, servedRow } from './support/warehouse.ts'

const curlDeadlineMs = 60_000
const team = 'acme'

const { tools, pipeline, api } = usePythonPipeline()

describePython('The snippets for curl and DuckDB', () => {
  test('load every value that the contract allows, with all its digits', async () => {
    const history = oddHistory(29, 400)
    await pipeline.createKeys(history.teams)
    const loaded = resolve(tools.folder, 'loaded')
    await mkdir(loaded)
    const env = { ...process.env, TIDEMARK_URL: `${api.url}/api/v1`, TIDEMARK_KEY: pipeline.keyOf(team) }
    for (const records of [history.records.slice(0, 500), history.records.slice(500)]) {
      await pipeline.produceHistory(records)
      await pipeline.untilApplied(api, team)
      const script = [resolve('connectors/snippets/curl.sh'), loaded]
      await promisify(execFile)('sh', script, { env, timeout: curlDeadlineMs })
    }
    const snippet = [resolve('connectors/snippets/duckdb.sql'), loaded]
    const said = await tools.runScript('test/foreign/python/run_duckdb_snippet.py', snippet)
    const rows = jsonLines(said).map(({ changedAt, ...row }) => servedRow(row))
    expect(rows).toEqual(listAfter(history.records, 'records', team))
  })
})
