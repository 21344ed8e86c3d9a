import { cp, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { deleted, existing, startChangesServer } from '../support/changesServer.ts'
import { useStarted } from '../support/lifecycle.ts'
import { deepAnswers, oddHistory } from '../support/oddHistory.ts'
import type { Json } from '../support/randomHistory.ts'
import { readExactly } from '../support/readExactly.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { listAfter, manyDigitsRecord, readPythonJson, withoutNulls } from './support/warehouse.ts'

const team = 'acme'
const streams = ['forms', 'records'] as const
type Stream = (typeof streams)[number]

const { tools, pipeline, api } = usePythonPipeline('airbyte')
const feed = useStarted('the server of changes', startChangesServer)

type Program = {
  readonly tool: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly mode: 'incremental' | 'full_refresh'
}
const source: Program = { tool: 'python', args: ['-m', 'tidemark_airbyte'], mode: 'incremental' }
const manifest: Program = {
  tool: 'source-declarative-manifest',
  args: ['--manifest-path', resolve('connectors/airbyte/manifest.yaml')],
  mode: 'full_refresh',
}
const changes: Program = {
  tool: 'source-declarative-manifest',
  args: [
    ...['--manifest-path', resolve('connectors/airbyte/changes/manifest.yaml')],
    ...['--components-path', resolve('connectors/airbyte/changes/components.py')],
  ],
  env: { AIRBYTE_ENABLE_UNSAFE_CODE: 'true' },
  mode: 'incremental',
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
  /** The rows of submissions, as they came. */
  readonly read: Json[] = []

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
    const { tool, args: own, env } = this.#program
    // The options of the low-code program follow its command, those of Python come before it.
    const all = own[0] === '-m' ? [...own, ...args, ...config] : [...args, ...own, ...config]
    const said = await tools.run(tool, all, { PYTHONPATH: resolve(tools.folder, 'site'), ...env })
    const lines = said.split('\n').filter((line) => line.startsWith('{'))
    return lines.map(readExactly)
  }

  #apply({ stream, data }: { stream: Stream; data: Json }): void {
    const { synced_at, position, _ab_cdc_deleted_at, changedAt, deleted: _isNot, ...row } = data
    const table = this.#tables.get(stream) ?? new Map<string, Json>()
    this.#tables.set(stream, table)
    if (stream === 'records') this.read.push(data)
    if (_ab_cdc_deleted_at == null) table.set(row.id, row)
    else table.delete(row.id)
  }
}

async function saved(name: string, content: Json): Promise<string> {
  const path = resolve(tools.folder, `${name}.json`)
  await writeFile(path, JSON.stringify(content))
  return path
}

/** A row of the manifest without code, which makes text of what has a number beyond a double. */
function withParsedTexts(row: Json): Json {
  const columns = ['localization', 'examinee', 'data', 'result'].filter((name) => typeof row[name] === 'string')
  return { ...row, ...Object.fromEntries(columns.map((name) => [name, withoutNulls(readPythonJson(row[name]))])) }
}

const replica = (): Json => ({ base_url: `${api.url}/api/v1/`, account_key: pipeline.keyOf(team) })
const history = oddHistory(8, 900)
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

  test('after several syncs, the tables have exactly the entities that exist', async () => {
    const whole = new Destination(manifest, replica)
    const followed = [new Destination(source, replica), new Destination(changes, replica)]
    for (const destination of [whole, ...followed]) {
      const [status] = (await destination.say(['check'])).filter(({ type }) => type === 'CONNECTION_STATUS')
      expect(status?.connectionStatus).toMatchObject({ status: 'SUCCEEDED' })
    }
    const steps = [history.records.slice(0, 700), history.records.slice(700, 1_100), history.records.slice(1_100)]
    let known = history.records.slice(0, 0)
    for (const records of steps) {
      known = [...known, ...records]
      await pipeline.produceHistory(records)
      await pipeline.untilApplied(api, team)
      for (const destination of followed) {
        await destination.sync()
        for (const stream of streams)
          expect(destination.rows(stream)).toEqual(listAfter(known, stream, team).map(withoutNulls))
      }
    }
    await whole.sync()
    for (const stream of streams)
      expect(whole.rows(stream).map(withParsedTexts)).toEqual(listAfter(known, stream, team).map(withoutNulls))

    for (const program of [source, changes, manifest]) {
      const few = new Destination(program, replica)
      await few.sync({ record_fields: 'result.status' })
      expect(few.rows('records')).toEqual(fewOf(known))
    }

    const [withSource] = followed
    await pipeline.produce('submissions', [manyDigitsRecord(team, 'deep', deepAnswers)])
    await pipeline.untilApplied(api, team)
    await withSource?.sync()
    const deep = withSource?.rows('records').find(({ id }) => id === 'deep')
    // The innermost levels are a text.
    expect(JSON.stringify(deep.data).replaceAll('"', '')).toBe(deepAnswers.replaceAll('"', ''))
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

  const followed = (program: Program): Destination =>
    new Destination(program, () => ({ base_url: feed.url, account_key: 'key' }))

  test.each([
    { name: 'the source', program: source, later: () => new Date(Date.now() + 2_000).toUTCString() },
    { name: 'the manifest with components', program: changes, later: () => '2' },
  ])(
    '$name reads all pages, waits as long as Retry-After demands, and continues from the last cursor',
    async (each) => {
      const destination = followed(each.program)
      feed.willAnswer([
        { items: [existing('a'), existing('b')], cursor: '1', hasMore: true },
        { status: 429, retryAfter: '1' },
        { status: 503, retryAfter: each.later() },
        { items: [existing('c')], cursor: '2' },
      ])
      await destination.sync()
      expect(feed.asked()).toEqual(['none', '1', '1', '1'])
      expect(destination.ids()).toEqual(['a', 'b', 'c'])

      feed.willAnswer([{ items: [], cursor: '2' }])
      await destination.sync()
      feed.willAnswer([{ items: [deleted('a'), existing('d')], cursor: '3' }])
      await destination.sync()
      expect(feed.asked()).toEqual(['2'])
      expect(destination.ids()).toEqual(['b', 'c', 'd'])
    },
  )

  test('a sync of the source that fails midway has reported its last cursor to the platform', async () => {
    const pageFrom = (first: number): Json[] => Array.from({ length: 1_000 }, (_, at) => existing(`s${first + at}`))
    feed.willAnswer([
      { items: pageFrom(0), cursor: '1', hasMore: true },
      { items: pageFrom(1_000), cursor: '2', hasMore: true },
      { status: 401 },
    ])
    await expect(followed(source).sync()).rejects.toThrow(/"stream_state":\{"cursor":"1"/)
  })

  test('a sync of the manifest with components that fails midway starts again from its beginning', async () => {
    const destination = followed(changes)
    feed.willAnswer([{ items: [existing('a')], cursor: '1' }])
    await destination.sync()
    feed.willAnswer([{ items: [existing('b')], cursor: '2', hasMore: true }, { status: 401 }])
    await expect(destination.sync()).rejects.toThrow(/401/)
    feed.willAnswer([{ items: [existing('b'), existing('c')], cursor: '3' }])
    await destination.sync()
    expect(feed.asked()).toEqual(['1'])
    expect(destination.ids()).toEqual(['a', 'b', 'c'])
  })

  test.each([
    ['the source', source],
    ['the manifest with components', changes],
  ])('%s gives a later row of an entity a greater value of the cursor field', async (_, program) => {
    const destination = followed(program)
    feed.willAnswer([
      { items: [existing('a')], cursor: 'z', hasMore: true },
      { items: [existing('a')], cursor: 'a' },
    ])
    await destination.sync()
    feed.willAnswer([{ items: [existing('a')], cursor: '1' }])
    await destination.sync()
    const values = destination.read.map(({ synced_at, position }) => position ?? synced_at)
    expect(values).toEqual(values.toSorted())
    expect(values.at(-1)).not.toBe(values[0])
  })

  test.each([
    ['the source', source],
    ['the manifest with components', changes],
  ])('a sync of %s with an expired cursor fails, and reports how to start anew', async (_, program) => {
    const destination = followed(program)
    feed.willAnswer([{ items: [existing('a')], cursor: '1' }])
    await destination.sync()
    feed.willAnswer([{ status: 410 }])
    await expect(destination.sync()).rejects.toThrow(/Refresh and remove records/)
    expect(feed.asked()).toEqual(['1'])
  })

  test('a check reports why the API refuses the key', async () => {
    const destination = new Destination(source, () => ({ base_url: `${api.url}/api/v1`, account_key: 'rqp_acct_none' }))
    const [status] = (await destination.say(['check'])).filter(({ type }) => type === 'CONNECTION_STATUS')
    expect(status?.connectionStatus).toMatchObject({ status: 'FAILED', message: expect.stringContaining('401') })
  })
})
