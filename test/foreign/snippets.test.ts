import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Json, randomHistory } from '../support/randomHistory.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { jsonLines, listAfter, manyDigits, manyDigitsRecord, servedRow } from './support/warehouse.ts'

const curlDeadlineMs = 60_000
const team = 'acme'
const history = randomHistory(9, 900)
const half = history.records.slice(0, 500)

const { tools, pipeline, api } = usePythonPipeline()

describePython('The snippets', () => {
  test('for curl, DuckDB and pandas produce the current submissions', async () => {
    await pipeline.createKeys(history.teams)
    const loaded = resolve(tools.folder, 'loaded')
    await mkdir(loaded)
    const env = { TIDEMARK_URL: `${api.url}/api/v1`, TIDEMARK_KEY: pipeline.keyOf(team) }
    const options = { env: { ...process.env, ...env }, timeout: curlDeadlineMs }
    const frame = async (): Promise<readonly string[]> => {
      const files = ['copy.json', 'records.csv'].map((name) => resolve(tools.folder, name))
      const withClient = { ...env, PYTHONPATH: resolve('clients/python/src') }
      await tools.runScript('connectors/snippets/pandas_records.py', files, withClient)
      return (await readFile(resolve(tools.folder, 'records.csv'), 'utf8')).trim().split('\n')
    }
    const idsOf = ([header = '', ...lines]: readonly string[]) => {
      const at = header.split(',').indexOf('id')
      return lines.map((line) => line.split(',')[at])
    }
    for (const known of [half, history.records]) {
      await pipeline.produceHistory(known === half ? half : history.records.slice(half.length))
      await pipeline.untilApplied(api, team)
      await promisify(execFile)('sh', [resolve('connectors/snippets/curl.sh'), loaded], options)
      expect(idsOf(await frame()).sort()).toEqual(listAfter(known, 'records', team).map(({ id }) => id))
    }
    const expected = listAfter(history.records, 'records', team)

    const snippet = [resolve('connectors/snippets/duckdb.sql'), loaded]
    const said = await tools.runScript('test/foreign/python/run_duckdb_snippet.py', snippet)
    expect(jsonLines(said).map(({ changedAt, ...row }) => servedRow(row))).toEqual(expected)

    const few = resolve(tools.folder, 'few')
    await mkdir(few)
    const withFields = { ...options, env: { ...options.env, FIELDS: 'result.status' } }
    await promisify(execFile)('sh', [resolve('connectors/snippets/curl.sh'), few], withFields)
    const files = (await readdir(few)).filter((name) => name.endsWith('.json'))
    const pages = await Promise.all(files.map((name) => readFile(resolve(few, name), 'utf8')))
    const rows: Json[] = pages.flatMap((page) => JSON.parse(page).items)
    expect(new Set(rows.map((row) => Object.keys(row).join()))).toEqual(new Set(['changedAt,deleted,id,result']))
    expect(rows.map(({ id }) => id).sort()).toEqual(expected.map(({ id }) => id))

    await pipeline.produce('submissions', [manyDigitsRecord(team, 'digits')])
    await pipeline.untilApplied(api, team)
    await promisify(execFile)('sh', [resolve('connectors/snippets/curl.sh'), loaded], options)
    const withDigits = jsonLines(await tools.runScript('test/foreign/python/run_duckdb_snippet.py', snippet))
    const { serialNumber, data } = withDigits.find(({ id }) => id === 'digits')
    expect({ serialNumber, data }).toEqual({ serialNumber: Number.MAX_SAFE_INTEGER, data: manyDigits })

    const lines = await frame()
    expect(lines[0]).toContain(',serialNumber,formId,')
    expect(idsOf(lines).sort()).toEqual([...expected.map(({ id }) => id), 'digits'].sort())
    const line = lines.find((each) => each.includes(',digits,'))
    for (const digits of [`${Number.MAX_SAFE_INTEGER}`, ',0.7,12345678901234567890123,1e400'])
      expect(line).toContain(digits)
  })
})
