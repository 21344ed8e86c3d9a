import { cp, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { deleted, existing, startChangesServer } from '../support/changesServer.ts'
import { useStarted } from '../support/late.ts'
import { type Json, randomHistory } from '../support/randomHistory.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { listAfter, manyDigits, manyDigitsRecord } from './support/warehouse.ts'

const team = 'acme'
const streams = ['forms', 'records'] as const
type Stream = (typeof streams)[number]

const { tools, pipeline, api } = usePythonPipeline('airbyte')
const feed = useStarted('the server of changes', startChangesServer)

type Program = {
  readonly tool: string
  readonly args: readonly string[]
  readonly mode: 'incremental' | 'full_refresh'
}
const source: Program = { tool: 'python', args: ['-m', 'tidemark_airbyte'], mode: 'incremental' }
const manifest: Program = {
  tool: 'source-declarative-manifest',
  args: ['--manifest-path', resolve('connectors/airbyte/manifest.yaml')],
  mode: 'full_refresh',
}

/**
 * A destination that deduplicates by primary key and drops rows marked as deleted, or holds what the last sync brought; and what the platform keeps
 * for the source.
 */
class Destination {
  readonly #program: Program
  readonly #config: () => Json
  readonly #tables = new Map<Stream, Map<string, Json>>()
  #states: Json[] = []

  constructor(program: Program, config: () => Json) {
    this.#program = program
    this.#config = config
  }

  rows(stream: Stream): Json[] {
    const rows = [...(this.#tables.get(stream) ?? new Map<string, Json>()).values()].map(withoutNulls)
    return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  ids(): string[] {
    return this.rows('records').map(({ id }) => id)
  }

  /** What the source said last about how far the stream was read. */
  stateOf(stream: Stream): Json {
    return this.#states.find((state) => state.stream.stream_descriptor.name === stream)?.stream.stream_state
  }

  /** Syncs once; rejects with what the program said when the sync fails. */
  async sync(settings: Json = {}): Promise<void> {
    const { mode } = this.#program
    const isIncremental = mode === 'incremental'
    const catalog = {
      streams: streams.map((name) => ({
        stream: { name, json_schema: {}, supported_sync_modes: ['full_refresh', 'incremental'] },
        sync_mode: mode,
        destination_sync_mode: isIncremental ? 'append_dedup' : 'overwrite',
        primary_key: [['id']],
      })),
    }
    const state = isIncremental ? ['--state', await saved('state', this.#states)] : []
    const messages = await this.say(['read', '--catalog', await saved('catalog', catalog), ...state], settings)
    if (!isIncremental) this.#tables.clear()
    for (const { type, record } of messages) if (type === 'RECORD') this.#apply(record)
    const told = messages.filter(({ type }) => type === 'STATE').map(({ state: each }) => each)
    const newest = new Map([...this.#states, ...told].map((each) => [each.stream.stream_descriptor.name, each]))
    this.#states = [...newest.values()]
  }

  /** Runs a command of the source; returns its messages. */
  async say(args: readonly string[], settings: Json = {}): Promise<Json[]> {
    const config = ['--config', await saved('config', { ...this.#config(), ...settings })]
    const { tool, args: own } = this.#program
    // The options of the low-code program follow its command, those of Python come before it.
    const all = own[0] === '-m' ? [...own, ...args, ...config] : [...args, ...own, ...config]
    const said = await tools.run(tool, all, { PYTHONPATH: resolve(tools.folder, 'site') })
    const lines = said.split('\n').filter((line) => line.startsWith('{'))
    return lines.map((line) => JSON.parse(line) as Json)
  }

  #apply({ stream, data }: { stream: Stream; data: Json }): void {
    const { synced_at, _ab_cdc_deleted_at, changedAt, deleted: _isNot, ...row } = data
    const table = this.#tables.get(stream) ?? new Map<string, Json>()
    this.#tables.set(stream, table)
    if (_ab_cdc_deleted_at == null) table.set(row.id, row)
    else table.delete(row.id)
  }
}

async function saved(name: string, content: Json): Promise<string> {
  const path = resolve(tools.folder, `${name}.json`)
  await writeFile(path, JSON.stringify(content))
  return path
}

/** Removes null members, as Airbyte does. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]))
}

const replica = (): Json => ({ base_url: `${api.url}/api/v1/`, account_key: pipeline.keyOf(team) })
const history = randomHistory(8, 900)
const fewOf = (records: typeof history.records): Json[] =>
  listAfter(records, 'records', team).map(({ id, result }) =>
    withoutNulls({ id, result: result && { status: result.status } }),
  )

describePython('Airbyte', () => {
  beforeAll(async () => {
    const [site, package_] = [resolve(tools.folder, 'site'), resolve(tools.folder, 'package')]
    await cp('connectors/airbyte', package_, { recursive: true })
    await tools.run('pip', ['install', '--quiet', '--no-deps', '--target', site, package_])
    await pipeline.createKeys(history.teams)
  })

  test('after several syncs, the tables hold exactly the entities that exist', async () => {
    const [followed, whole] = [new Destination(source, replica), new Destination(manifest, replica)]
    for (const destination of [followed, whole]) {
      const [status] = (await destination.say(['check'])).filter(({ type }) => type === 'CONNECTION_STATUS')
      expect(status?.connectionStatus).toMatchObject({ status: 'SUCCEEDED' })
    }
    const steps = [history.records.slice(0, 400), history.records.slice(400, 650), history.records.slice(650)]
    let known = history.records.slice(0, 0)
    for (const records of steps) {
      known = [...known, ...records]
      await pipeline.produceHistory(records)
      await pipeline.untilApplied(api, team)
      await followed.sync()
      for (const stream of streams)
        expect(followed.rows(stream)).toEqual(listAfter(known, stream, team).map(withoutNulls))
    }
    await whole.sync()
    for (const stream of streams) expect(whole.rows(stream)).toEqual(followed.rows(stream))

    for (const program of [source, manifest]) {
      const few = new Destination(program, replica)
      await few.sync({ record_fields: 'result.status' })
      expect(few.rows('records')).toEqual(fewOf(known))
    }

    const answers = manyDigits.replace(',"beyond":1e400', '')
    await pipeline.produce('submissions', [manyDigitsRecord(team, 'digits', answers)])
    await pipeline.untilApplied(api, team)
    for (const destination of [followed, whole]) {
      await destination.sync()
      const { serialNumber, data } = destination.rows('records').find(({ id }) => id === 'digits')
      expect([serialNumber, data]).toEqual([Number.MAX_SAFE_INTEGER, JSON.parse(answers)])
    }
  })

  test.each(['summary', 'full'])('the source declares every member of a row with view=%s', async (view) => {
    const destination = new Destination(source, replica)
    const messages = await destination.say(['discover'], { view })
    const discovered: Json[] = messages.flatMap(({ catalog }) => catalog?.streams ?? [])
    for (const [path, stream] of Object.entries({ 'form-changes': 'forms', 'record-changes': 'records' })) {
      const { json_schema } = discovered.find(({ name }) => name === stream)
      const { items }: Json = (await pipeline.get(api, team, `/api/v1/${path}?view=${view}&limit=1`)).body
      const own = ['_ab_cdc_deleted_at', 'synced_at']
      expect(Object.keys(json_schema.properties).sort()).toEqual([...own, ...Object.keys(items[0])].sort())
    }
  })

  const followed = (): Destination => new Destination(source, () => ({ base_url: feed.url, account_key: 'key' }))

  test('a sync reads all pages, waits as long as Retry-After says, and goes on from the cursor of the last one', async () => {
    const destination = followed()
    feed.willAnswer([
      { items: [existing('a'), existing('b')], cursor: '1', hasMore: true },
      { status: 429, retryAfter: '1' },
      { status: 503, retryAfter: new Date(Date.now() + 2_000).toUTCString() },
      { items: [existing('c')], cursor: '2' },
    ])
    await destination.sync()
    expect(feed.asked()).toEqual(['none', '1', '1', '1'])
    expect(destination.ids()).toEqual(['a', 'b', 'c'])
    expect(destination.stateOf('records')).toMatchObject({ cursor: '2' })

    feed.willAnswer([{ items: [deleted('a'), existing('d')], cursor: '3' }])
    await destination.sync()
    expect(feed.asked()).toEqual(['2'])
    expect(destination.ids()).toEqual(['b', 'c', 'd'])
    feed.willAnswer([{ items: [], cursor: '4' }])
    await destination.sync()
    expect(destination.stateOf('records')).toMatchObject({ cursor: '4' })
  })

  test('a sync that fails midway has told the platform how far it came', async () => {
    const pageFrom = (first: number): Json[] => Array.from({ length: 1_000 }, (_, at) => existing(`s${first + at}`))
    feed.willAnswer([
      { items: pageFrom(0), cursor: '1', hasMore: true },
      { items: pageFrom(1_000), cursor: '2', hasMore: true },
      { status: 401 },
    ])
    await expect(followed().sync()).rejects.toThrow(/"stream_state":\{"cursor":"1"/)
  })

  test('a sync with an expired cursor fails and says how to begin anew', async () => {
    const destination = followed()
    feed.willAnswer([{ items: [existing('a')], cursor: '1' }])
    await destination.sync()
    feed.willAnswer([{ status: 410 }])
    await expect(destination.sync()).rejects.toThrow(/Refresh and remove records/)
    expect(feed.asked()).toEqual(['1'])
  })

  test('a check says why the API refuses the key', async () => {
    const destination = new Destination(source, () => ({ base_url: `${api.url}/api/v1`, account_key: 'rqp_acct_none' }))
    const [status] = (await destination.say(['check'])).filter(({ type }) => type === 'CONNECTION_STATUS')
    expect(status?.connectionStatus).toMatchObject({ status: 'FAILED', message: expect.stringContaining('401') })
  })
})
