import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Json, randomHistory } from '../support/randomHistory.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { listAfter, manyDigits, manyDigitsRecord } from './support/warehouse.ts'

const team = 'acme'
const manifest = resolve('connectors/airbyte/manifest.yaml')

type Stream = 'forms' | 'records'
const { tools, pipeline, api } = usePythonPipeline('airbyte')

/** Tables of a destination that deduplicates by primary key and removes rows marked as deleted. */
const tables: Record<Stream, Map<string, Json>> = { forms: new Map(), records: new Map() }
let states: Json[] = []

describePython('The Airbyte manifest', () => {
  test('after several syncs, the tables hold exactly the entities that exist', async () => {
    const history = randomHistory(8, 900)
    await pipeline.createKeys(history.teams)
    expect(await check()).toMatchObject({ status: 'SUCCEEDED' })
    const steps = [history.records.slice(0, 400), history.records.slice(400, 650), history.records.slice(650)]
    let known = history.records.slice(0, 0)
    for (const records of steps) {
      known = [...known, ...records]
      await pipeline.produceHistory(records)
      await pipeline.untilApplied(api, team)
      await sync()
      expect(rows('forms')).toEqual(listAfter(known, 'forms', team).map(withoutNulls))
      expect(rows('records')).toEqual(listAfter(known, 'records', team).map(withoutNulls))
    }
    const cursors = states.map(({ stream }) => Object.values(stream.stream_state)[0])
    expect(cursors).not.toContain('1970-01-01T00:00:00.000000Z')

    states = []
    tables.records.clear()
    await sync({ record_fields: 'result.status' })
    const few = listAfter(known, 'records', team).map(({ id, result }) => ({
      id,
      result: result && { status: result.status },
    }))
    expect(rows('records')).toEqual(few.map(withoutNulls))

    const answers = manyDigits.replace(',"beyond":1e400', '')
    await pipeline.produce('submissions', [manyDigitsRecord(team, 'digits', answers)])
    await pipeline.untilApplied(api, team)
    await sync()
    const { serialNumber, data } = tables.records.get('digits')
    expect([serialNumber, data]).toEqual([Number.MAX_SAFE_INTEGER, JSON.parse(answers)])
  })
})

const rows = (stream: Stream): Json[] =>
  [...tables[stream].values()].map(withoutNulls).toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** Removes null members, as Airbyte does. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]))
}

async function check(): Promise<Json> {
  const messages = await run(['check'])
  return messages.find(({ type }) => type === 'CONNECTION_STATUS')?.connectionStatus
}

async function sync(settings: Json = {}): Promise<void> {
  const catalog = {
    streams: (['forms', 'records'] as const).map((name) => ({
      stream: { name, json_schema: {}, supported_sync_modes: ['full_refresh', 'incremental'] },
      sync_mode: 'incremental',
      destination_sync_mode: 'append_dedup',
      primary_key: [['id']],
      cursor_field: ['synced_until'],
    })),
  }
  const files = ['--catalog', await saved('catalog', catalog), '--state', await saved('state', states)]
  const messages = await run(['read', ...files], settings)
  for (const { type, record } of messages) if (type === 'RECORD') apply(record)
  const newest = new Map<string, Json>(states.map((state) => [state.stream.stream_descriptor.name, state]))
  for (const { type, state } of messages) if (type === 'STATE') newest.set(state.stream.stream_descriptor.name, state)
  states = [...newest.values()]
}

function apply({ stream, data }: { stream: Stream; data: Json }): void {
  const { synced_until, _ab_cdc_deleted_at, ...row } = data
  if (_ab_cdc_deleted_at == null) tables[stream].set(row.id, row)
  else tables[stream].delete(row.id)
}

/** Runs the manifest with Airbyte's own program; returns its messages. */
async function run(args: readonly string[], settings: Json = {}): Promise<Json[]> {
  const config = { base_url: `${api.url}/api/v1/`, account_key: pipeline.keyOf(team), lookback: 'PT2S', ...settings }
  const options = ['--manifest-path', manifest, '--config', await saved('config', config)]
  const said = await tools.run('source-declarative-manifest', [...args, ...options])
  const messages = said
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Json)
  const traces = messages.filter(({ type, trace }) => type === 'TRACE' && trace.type === 'ERROR')
  expect(traces).toEqual([])
  return messages
}

async function saved(name: string, content: Json): Promise<string> {
  const path = resolve(tools.folder, `${name}.json`)
  await writeFile(path, JSON.stringify(content))
  return path
}
