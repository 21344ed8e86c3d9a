import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../../support/randomHistory.ts'
import type { PythonTools } from './python.ts'
import type { ClientPackage } from './pythonClientPackage.ts'
import { jsonLines, messageLines, servedRow } from './warehouse.ts'

/** A team's submissions, as another program has copied them. */
export type Copy = {
  readonly name: string
  /** The rows of the copy as it is now, as the API serves them, by id. */
  items(): Promise<ReadonlyMap<string, Json>>
  /** Follows until `signal` aborts. Resolves then. */
  follow(signal: AbortSignal): Promise<void>
  /** How many runs have failed and were begun again; of a program that goes on by itself, how often it was started again. */
  failures: number
}

/** Where a copy is made from. */
export type CopySource = { readonly baseUrl: string; readonly accountKey: string }

const restMs = 1_000
/** What is told of a run that failed. */
const failureCharacters = 300

/** The example of the Python client, which keeps a table of SQLite current and never ends by itself. */
export function copyOfPythonClient(
  { python }: ClientPackage,
  { baseUrl, accountKey }: CopySource,
  folder: string,
): Copy {
  const file = join(folder, 'records.db')
  const env = { ...process.env, TIDEMARK_URL: baseUrl, TIDEMARK_KEY: accountKey, COPY: file }
  return {
    name: 'Python client',
    failures: 0,
    async items() {
      using database = new DatabaseSync(file, { readOnly: true })
      const rows = database.prepare('SELECT record FROM records').all() as { record: string }[]
      return byId(rows.map(({ record }) => JSON.parse(record)))
    },
    async follow(signal) {
      for (; !signal.aborted; this.failures++) {
        const program = spawn(python, ['clients/python/examples/copy_to_sqlite.py'], { env, stdio: 'ignore' })
        const end = (): boolean => program.kill('SIGKILL')
        signal.addEventListener('abort', end)
        await once(program, 'exit')
        signal.removeEventListener('abort', end)
      }
    },
  }
}

/** dlt's own source `rest_api`, which is run again and again, with the table in DuckDB. */
export function copyOfDlt(tools: PythonTools, { baseUrl, accountKey }: CopySource): Copy {
  const env = {
    ...{ TIDEMARK_URL: baseUrl, TIDEMARK_KEY: accountKey, DLT_DATA_DIR: resolve(tools.folder, 'dlt') },
    ...{ DESTINATION__DUCKDB__CREDENTIALS: resolve(tools.folder, 'copy.duckdb') },
    ...{ RUNTIME__DLTHUB_TELEMETRY: 'false', RUNTIME__LOG_LEVEL: 'ERROR' },
  }
  return runAgainAndAgain('dlt rest_api', {
    run: async () => {
      await tools.runScript('connectors/dlt/rest_api.py', [], env)
    },
    items: async () => {
      const said = await tools.runScript('test/foreign/python/read_table.py', ['copy.duckdb', 'records'])
      return byId(jsonLines(said).map(({ _dlt_id, _dlt_load_id, changed_at, page_cursor, ...row }) => servedRow(row)))
    },
  })
}

/** Airbyte's low-code program with the manifest that follows changes. Each sync gets the state that the last one has left, as from the platform. */
export function copyOfAirbyte(tools: PythonTools, { baseUrl, accountKey }: CopySource): Copy {
  const table = new Map<string, Json>()
  const stream = { name: 'records', json_schema: {}, supported_sync_modes: ['full_refresh', 'incremental'] }
  const modes = { sync_mode: 'incremental', destination_sync_mode: 'append_dedup', primary_key: [['id']] }
  let states: Json[] = []
  const saved = async (name: string, content: Json): Promise<string[]> => {
    const path = join(tools.folder, `copy-${name}.json`)
    await writeFile(path, JSON.stringify(content))
    return [`--${name}`, path]
  }
  const program = [
    ...['--manifest-path', resolve('connectors/airbyte/changes/manifest.yaml')],
    ...['--components-path', resolve('connectors/airbyte/changes/components.py')],
  ]
  return runAgainAndAgain('Airbyte', {
    run: async () => {
      const said = await tools.run(
        'source-declarative-manifest',
        [
          'read',
          ...(await saved('config', { base_url: `${baseUrl}/`, account_key: accountKey })),
          ...(await saved('catalog', { streams: [{ stream, ...modes }] })),
          ...(await saved('state', states)),
          ...program,
        ],
        { AIRBYTE_ENABLE_UNSAFE_CODE: 'true' },
      )
      const messages = messagesIn(said)
      for (const { synced_at, position, _ab_cdc_deleted_at, ...row } of messages.records.map(({ data }) => data))
        apply(table, row, _ab_cdc_deleted_at != null)
      if (messages.states.length > 0) states = messages.states.slice(-1).map(({ state }) => state)
    },
    items: async () => byId([...table.values()]),
  })
}

/** The Singer tap `tap-rest-api-msdk`; its rows are pages. */
export function copyOfSinger(tools: PythonTools, { baseUrl, accountKey }: CopySource): Copy {
  const table = new Map<string, Json>()
  let state: Json | undefined
  return runAgainAndAgain('Singer tap-rest-api-msdk', {
    run: async () => {
      const stored = join(tools.folder, 'copy-state.json')
      if (state !== undefined) await writeFile(stored, JSON.stringify(state))
      const config = ['--config', 'ENV', '--config', resolve('connectors/singer/records.json')]
      const said = await tools.run(
        'tap-rest-api-msdk',
        [...config, ...(state === undefined ? [] : ['--state', stored])],
        { TAP_REST_API_MSDK_API_URL: `${baseUrl}/`, TAP_REST_API_MSDK_BEARER_TOKEN: accountKey },
      )
      const messages = messagesIn(said)
      for (const row of messages.records.flatMap(({ items }) => JSON.parse(items))) apply(table, row, row.deleted)
      state = messages.states.at(-1)?.value ?? state
    },
    items: async () => byId([...table.values()]),
  })
}

/** The messages of a source of Airbyte or Singer, among which programs write other lines. */
function messagesIn(said: string): { readonly records: readonly Json[]; readonly states: readonly Json[] } {
  const messages = messageLines(said)
  const of = (type: string): Json[] => messages.filter((message) => message.type === type)
  return { records: of('RECORD').map(({ record }) => record), states: of('STATE') }
}

function apply(table: Map<string, Json>, row: Json, isDeleted: boolean): void {
  if (isDeleted) table.delete(row.id)
  else table.set(row.id, row)
}

/** A program that reads what is new and ends. One that fails is run again. */
function runAgainAndAgain(name: string, { run, items }: { run(): Promise<void>; items: Copy['items'] }): Copy {
  return {
    ...{ name, items, failures: 0 },
    async follow(signal) {
      while (!signal.aborted) {
        await run().catch((error: unknown) => {
          this.failures++
          process.stderr.write(`${name}: ${String(error).slice(-failureCharacters)}\n`)
        })
        await sleep(restMs, undefined, { signal }).catch(() => undefined)
      }
    },
  }
}

/** Rows without what only a change has. */
const byId = (rows: readonly Json[]): ReadonlyMap<string, Json> =>
  new Map(rows.map(({ changedAt, deleted, ...row }) => [row.id, row]))
