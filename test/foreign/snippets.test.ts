import { execFile } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Json, randomHistory } from '../support/randomHistory.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { listAfter, servedRow } from './support/warehouse.ts'

const deadlineMs = 60_000
const testTimeoutMs = 300_000
const team = 'acme'
const history = randomHistory(9, 900)
const half = history.records.slice(0, 500)

const opened = usePythonPipeline()

describePython('The snippets', () => {
  test(
    'the snippets for curl, DuckDB and pandas end with the submissions as they are now',
    async () => {
      const { pipeline, api, tools, folder } = opened
      await pipeline.createKeys(history.teams)
      const loaded = resolve(folder, 'loaded')
      await mkdir(loaded)
      const env = { TIDEMARK_URL: `${api.url}/api/v1`, TIDEMARK_KEY: pipeline.keyOf(team) }
      for (const records of [half, history.records.slice(half.length)]) {
        await pipeline.produceHistory(records)
        await pipeline.untilApplied(api, team)
        await promisify(execFile)('sh', [resolve('connectors/snippets/curl.sh'), loaded], {
          env: { ...process.env, ...env },
          timeout: deadlineMs,
        })
      }
      const expected = listAfter(history.records, 'submissions', team)

      const script = resolve('test/foreign/python/run_duckdb_snippet.py')
      const said = await tools.run('python', [script, resolve('connectors/snippets/duckdb.sql'), loaded], {
        folder,
        deadlineMs,
      })
      const rows = said
        .trim()
        .split('\n')
        .map((line) => servedRow(JSON.parse(line) as Json))
      expect(rows).toEqual(expected)

      const csv = resolve(folder, 'records.csv')
      await tools.run('python', [resolve('connectors/snippets/pandas_records.py'), csv], { folder, env, deadlineMs })
      const [header = '', ...lines] = (await readFile(csv, 'utf8')).trim().split('\n')
      expect(header).toContain('id,serialNumber,formId')
      expect(lines.map((line) => line.split(',')[0]).sort()).toEqual(expected.map(({ id }) => id))
    },
    testTimeoutMs,
  )
})
