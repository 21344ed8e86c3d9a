import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startLocalServer } from '../support/localServer.ts'
import { seeded } from '../support/random.ts'
import type { Json } from '../support/randomHistory.ts'
import { type Credential, type Database, N8nProcess, rowsAt } from './support/n8nHost.ts'
import { type Classes, openN8nPackage } from './support/n8nPackage.ts'
import { startScriptedFeed } from './support/scriptedFeed.ts'

const installDeadlineMs = 15 * 60_000
const package_ = useStarted('the package', openN8nPackage, { patienceMs: installDeadlineMs })
const feed = useStarted('the feed', startScriptedFeed)

let classes: Classes
beforeAll(async () => {
  expect(await package_.tool('build')).toContain('Build successful')
  classes = await package_.load()
}, installDeadlineMs)

const changedAt = '2026-11-28T08:30:00.000Z'
const row = (id: string, members: Json = {}): Json => ({ id, changedAt, deleted: false, ...members })
const gone = (id: string): Json => ({ id, changedAt, deleted: true })
const credential = (): Credential => ({ baseUrl: `${feed.url}/api/v1/`, apiKey: 'key' })
const ids = (rows: readonly Json[]): string[] => rows.map(({ id }) => id)

const running: N8nProcess[] = []
afterEach(async () => {
  await kill(...running.splice(0))
  feed.latestIs({ items: [], cursor: 'now', watermark: '2026-11-28T08:00:00.000Z' })
})

/** Kills processes, and waits until the feed has noticed: their requests get no answers that are meant for the next one. */
async function kill(...processes: readonly N8nProcess[]): Promise<void> {
  for (const process of processes) await process.kill()
  await eventually(() => feed.waiting() === 0)
}

/** A process of n8n that has `database`, with the workflow active. */
async function started(parameters: Json = {}, database: Database = { staticData: '{}' }, options = {}) {
  const process = new N8nProcess(await package_.load(), database, credential(), options)
  running.push(process)
  await process.activate(parameters)
  return process
}

test("n8n's linter finds nothing but the licence, which must be MIT for nodes that n8n verifies", async () => {
  const said = await package_.tool('lint')
  const findings = said.split('\n').filter((line) => /^\s+\d+:\d+/.test(line))
  expect(findings).toEqual([expect.stringContaining('community-package-json-license-not-default')])
})

test('a number that a JavaScript number cannot represent becomes a text with its digits', () => {
  const { parseExactly } = classes.module('nodes/shared/exactJson')
  const text =
    '{"a":12345678901234567890123,"b":1e400,"c":-0.7,"d":9007199254740991,"e":9007199254740992,"f":1e-400,"g":0.0}'
  const read = { a: '12345678901234567890123', b: '1e400', c: -0.7, d: 9007199254740991, e: '9007199254740992' }
  expect(parseExactly(text)).toEqual({ ...read, f: '1e-400', g: 0 })
})

test.each([
  ['7', 7_000],
  ['Sat, 28 Nov 2026 08:00:05 GMT', 5_000],
  ['Sat, 28 Nov 2026 07:00:00 GMT', 0],
  ['86400', 3_600_000],
  ['soon', undefined],
  [undefined, undefined],
])('Retry-After %s is read as a wait of %s ms', (header, waitMs) => {
  const { retryAfterMs } = classes.module('nodes/shared/retryAfter')
  expect(retryAfterMs(header, Date.parse('2026-11-28T08:00:00Z'))).toBe(waitMs)
})

describe('the trigger', () => {
  test('emits new and changed items on the first output and deletions on the second, page after page', async () => {
    feed.willAnswer(
      { items: [row('a'), gone('b')], cursor: '1', hasMore: true },
      { items: [row('c')], cursor: '2' },
      { items: [row('a', { result: null })], cursor: '3' },
    )
    const { executions } = await started()
    await eventually(() => feed.waiting() === 1)
    expect(executions.map(({ outputs }) => outputs.map((items) => ids(items.map(({ json }) => json))))).toEqual([
      [['a'], ['b']],
      [['c'], []],
      [['a'], []],
    ])
    expect(feed.cursors()).toEqual(['now', '1', '2', '3'])
    expect(feed.asked().map(({ prefer }) => prefer)).toEqual([undefined, undefined, 'wait=30', 'wait=30'])
  })

  test('emits every existing item first if it starts from the beginning', async () => {
    feed.willAnswer({ items: [row('a')], cursor: '1' })
    const { executions } = await started({ startFrom: 'beginning', simplify: false, options: { rowsPerExecution: 7 } })
    await eventually(() => feed.waiting() === 1)
    expect(feed.cursors()).toEqual(['none', '1'])
    expect(feed.asked()[0]?.query).toBe('?view=full&limit=7')
    expect(ids(rowsAt(executions, 0))).toEqual(['a'])
  })

  test('emits items that match all filters, and every deletion', async () => {
    const failed = { formId: 'f1', result: { status: 'completed', level: 'fail' } }
    const items = [
      row('failed', failed),
      row('passed', { ...failed, result: { ...failed.result, level: 'good' } }),
      row('elsewhere', { ...failed, formId: 'f2' }),
      row('pending', { ...failed, result: { ...failed.result, status: 'pending' } }),
      row('empty', { formId: null, result: null }),
      gone('deleted'),
    ]
    feed.willAnswer({ items, cursor: '1', hasMore: true }, { items: [row('passed', { formId: 'f2' })], cursor: '2' })
    const filters = { formId: { mode: 'id', value: 'f1' }, status: ['completed', 'failed'], level: 'fail' }
    const { executions } = await started({ filters, options: { fields: 'submittedAt, examinee.email' } })
    await eventually(() => feed.waiting() === 1)
    expect(executions).toHaveLength(1)
    expect(ids(rowsAt(executions, 0))).toEqual(['failed'])
    expect(ids(rowsAt(executions, 1))).toEqual(['deleted'])
    const asked = new URLSearchParams(feed.asked()[0]?.query)
    expect(asked.get('fields')).toBe('submittedAt,examinee.email,formId,result.status,result.level')
  })

  test('requests the next page only when the execution has ended', async () => {
    feed.willAnswer({ items: [row('a')], cursor: '1', hasMore: true }, { items: [row('b')], cursor: '2' })
    const { executions } = await started({}, undefined, { endsAtOnce: false })
    await eventually(() => executions.length === 1)
    expect(feed.cursors()).toEqual(['now'])
    executions[0]?.end()
    await eventually(() => executions.length === 2)
    expect(feed.cursors()).toEqual(['now', '1'])
  })

  test('repeats a request with the same cursor after 429, 503 and incomplete answers, no earlier than Retry-After allows', async () => {
    feed.willAnswer(
      { cut: 'closed' },
      { cut: 'ended' },
      { status: 429, retryAfter: '1' },
      { status: 503, retryAfter: new Date(Date.now() + 6_000).toUTCString() },
      { items: [row('a')], cursor: '1' },
    )
    const { executions, warnings } = await started()
    await eventually(() => executions.length === 1)
    expect(feed.cursors().slice(0, 5)).toEqual(['now', 'now', 'now', 'now', 'now'])
    const [, , limited = 0, unavailable = 0] = feed.asked().map(({ atMs }) => atMs)
    expect(unavailable - limited).toBeGreaterThanOrEqual(1_000)
    expect(warnings).toHaveLength(4)
    expect(ids(rowsAt(executions, 0))).toEqual(['a'])
  })

  test('aborts its waiting request when it is deactivated, and continues from there when it is activated again', async () => {
    const database = { staticData: '{}' }
    const loaded = await package_.load()
    feed.willAnswer({ items: [row('a')], cursor: '1' })
    const first = new N8nProcess(loaded, database, credential())
    await first.activate({})
    await eventually(() => feed.waiting() === 1)
    await first.deactivate()
    await eventually(() => feed.waiting() === 0)

    feed.willAnswer({ items: [row('b')], cursor: '2' })
    const again = new N8nProcess(loaded, database, credential())
    running.push(again)
    await again.activate({})
    await eventually(() => again.executions.length === 1)
    expect(feed.cursors()[0]).toBe('1')
    expect(first.fatal).toEqual([])
  })

  test('after a crash, emits the rows of an unfinished execution again, and then later rows', async () => {
    const database = { staticData: '{}' }
    feed.willAnswer({ items: [row('a')], cursor: '1' })
    const killed = await started({}, database, { endsAtOnce: false })
    await eventually(() => killed.executions.length === 1)
    await kill(killed)

    feed.willAnswer({ items: [row('a'), row('b')], cursor: '2' })
    const { executions } = await started({}, database)
    await eventually(() => executions.length === 1)
    expect(feed.cursors()[0]).toBe('now')
    expect(ids(rowsAt(executions, 0))).toEqual(['a', 'b'])
  })

  test('loses no row in any of ten random series of crashes', async () => {
    const rows = Array.from({ length: 40 }, (_, at) => row(`s${at}`))
    const server = await startLocalServer(({ url = '' }, response) => {
      const parameters = new URL(url, 'http://api').searchParams
      const from = Number((parameters.get('cursor') ?? '0').replace('latest', '0'))
      const to = parameters.get('cursor') === 'latest' ? 0 : from + Number(parameters.get('limit'))
      const items = rows.slice(from, to)
      const answer = { items, cursor: String(from + items.length), hasMore: to < rows.length }
      if (items.length > 0 || to === 0) response.end(JSON.stringify(answer))
    })
    try {
      for (let seed = 1; seed <= 10; seed += 1) expect(await handedOver(seed, server.url)).toEqual(ids(rows).toSorted())
    } finally {
      await server.close()
    }
  })

  /** The ids that executions had which have ended, though n8n is killed at random moments until all rows were read. */
  async function handedOver(seed: number, url: string): Promise<string[]> {
    const random = seeded(seed)
    const database = { staticData: '{}' }
    const seen = new Set<string>()
    for (let isOver = false; !isOver; ) {
      const process = new N8nProcess(
        await package_.load(),
        database,
        { baseUrl: url, apiKey: 'key' },
        { endsAtOnce: false },
      )
      await process.activate({ options: { rowsPerExecution: 1 + random.below(9) } })
      const { executions } = process
      for (let ended = 0; !isOver && !random.chance(0.2); ended += 1) {
        await eventually(() => executions.length > ended)
        if (random.chance(0.2)) break
        executions[ended]?.end()
        for (const id of ids(rowsAt(executions.slice(ended), 0))) seen.add(id)
        isOver = seen.has('s39')
      }
      await process.kill()
    }
    return [...seen].toSorted()
  }

  const lost: ReadonlyArray<[string, Json]> = [
    ['410', { status: 410, message: 'the cursor has expired' }],
    ['400 for the cursor', { status: 400, message: 'cursor must be unchanged, and from an answer to the same team' }],
  ]
  test.each(lost)(
    'after %s, reads everything again, emits items that changed since, and reports it in a failed execution',
    async (_what, answer) => {
      feed.willAnswer(
        { items: [row('a')], cursor: '1' },
        { items: [], cursor: '2', watermark: '2026-11-28T10:00:00.000Z' },
        answer,
        { items: [row('old'), row('new', { changedAt: '2026-11-28T10:00:01.000Z' })], cursor: '3', hasMore: true },
        { items: [row('new-2', { changedAt: '2026-11-28T11:00:00.000Z' })], cursor: '4' },
        { items: [row('late', { changedAt: '2020-01-01T00:00:00.000Z' })], cursor: '5' },
      )
      const { executions, failed, fatal } = await started()
      await eventually(() => feed.waiting() === 1)
      expect(feed.cursors()).toEqual(['now', '1', '2', 'none', '3', '4', '5'])
      expect(ids(rowsAt(executions, 0))).toEqual(['a', 'new', 'new-2', 'late'])
      expect(failed.map(({ message }) => message)).toEqual([`The place in the changes is lost: ${answer.message}`])
      expect(failed[0].description).toContain('since 2026-11-28T10:00:00.000Z')
      expect(fatal).toEqual([])
    },
  )

  test('after a change of its parameters, reads everything again and emits items that changed since', async () => {
    const database = { staticData: '{}' }
    const before = await started({}, database)
    await eventually(() => feed.waiting() === 1)
    await kill(before)
    feed.willAnswer({ items: [row('old', { changedAt: '2020-01-01T00:00:00.000Z' }), row('new')], cursor: '1' })
    const { executions, failed } = await started({ options: { fields: 'submittedAt' } }, database)
    await eventually(() => executions.length === 1)
    expect(feed.cursors()[0]).toBe('none')
    expect(ids(rowsAt(executions, 0))).toEqual(['new'])
    expect(failed[0].message).toContain('parameters of the node have changed')
  })

  test('cannot be activated with a key or a parameter that the API refuses, or without a first cursor', async () => {
    const activating = async (answer: Json): Promise<Json> => {
      feed.latestIs(answer)
      return await started().catch((error: unknown) => error)
    }
    const unauthorized = await activating({ status: 401, message: 'unknown key' })
    expect(unauthorized.message).toBe('The account key is refused: unknown key')
    expect(unauthorized.description).toContain('"Account Key"')
    expect((await activating({ status: 400, message: 'fields must be known' })).message).toContain(
      'fields must be known',
    )
    expect((await activating({ status: 503 })).message).toContain('503')
  })

  test('reports a key that is refused later, so that n8n deactivates the workflow', async () => {
    feed.willAnswer({ items: [row('a')], cursor: '1' }, { status: 401, message: 'revoked' })
    const { fatal } = await started()
    await eventually(() => fatal.length === 1)
    expect(fatal[0]?.message).toBe('The account key is refused: revoked')
  })

  test('shows one row that matches the filters in the editor', async () => {
    const process = new N8nProcess(classes, { staticData: '{}' }, credential())
    const items = [row('a', { result: { level: 'fail' } }), row('b')]
    const others = [row('b', { result: { level: 'Expert' } }), row('c', { result: { level: 'Beginner' } }), row('d')]
    feed.willAnswer(
      { items: [...items, gone('c')], cursor: '1' },
      { items: others, cursor: '1' },
      { items: [gone('a')], cursor: '1' },
    )
    const sample = await process.sample({ filters: { level: 'fail' } })
    expect(sample.map((each: Json) => each.map(({ json }: Json) => json.id))).toEqual([['a'], []])
    await expect(process.sample({ filters: { level: 'fail' } })).rejects.toMatchObject({
      message: 'None of 3 submissions passes the filters',
      description: expect.stringContaining('result.level: Expert, Beginner, (none)'),
    })
    await expect(process.sample({})).rejects.toThrow('There is no submission yet')
  })
})
