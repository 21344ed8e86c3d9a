import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { deleted, existing, startChangesServer } from '../../support/changesServer.ts'
import { useFolder } from '../../support/temporaryFolder.ts'

const folder = useFolder({ forEachTest: true })
const server = await startChangesServer()
afterAll(() => server.close())

const load = (): Promise<unknown> => {
  const env = { ...process.env, TIDEMARK_URL: server.url, TIDEMARK_KEY: 'key' }
  return promisify(execFile)('sh', ['connectors/snippets/curl.sh', folder], { env })
}
const files = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
/** The ids of each file, a `-` before those of deleted items. */
const loaded = (): string[] =>
  files().map((name) => {
    const { items } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { items: ReturnType<typeof existing>[] }
    return items.map((item) => `${item.deleted ? '-' : ''}${item.id}`).join(' ')
  })

test('a run stores each page in a file, and the next run continues from its last cursor', async () => {
  server.willAnswer([
    { items: [existing('a'), existing('b')], cursor: '1_-', hasMore: true },
    { items: [existing('c')], cursor: '2' },
  ])
  await load()
  expect(server.asked()).toEqual(['none', '1_-'])
  server.willAnswer([{ items: [deleted('a'), existing('d')], cursor: '3' }])
  await load()
  expect(server.asked()).toEqual(['2'])
  expect(loaded()).toEqual(['a b', 'c', '-a d'])
})

test('file names sort in the order of pages, also beyond nine', async () => {
  const pages = Array.from({ length: 12 }, (_, at) => ({
    items: [existing(`${at}`)],
    cursor: `c${at}`,
    hasMore: at < 11,
  }))
  server.willAnswer(pages.slice(0, 9).map((page) => ({ ...page, hasMore: page.cursor !== 'c8' })))
  await load()
  server.willAnswer(pages.slice(9))
  await load()
  expect(server.asked()).toEqual(['c8', 'c9', 'c10'])
  expect(loaded()).toEqual(pages.map((_, at) => `${at}`))
})

test('a run without changes stores no page, but a new cursor', async () => {
  server.willAnswer([{ items: [existing('a')], cursor: '1' }])
  await load()
  server.willAnswer([{ items: [], cursor: '1' }])
  await load()
  expect(loaded()).toEqual(['a'])
  server.willAnswer([{ items: [], cursor: '2' }])
  await load()
  server.willAnswer([{ items: [existing('b')], cursor: '3' }])
  await load()
  expect(server.asked()).toEqual(['2'])
  expect(loaded()).toEqual(['a', '', 'b'])
})

test('an item whose members have the names of the envelope does not confuse a run', async () => {
  const data = { cursor: 'x', hasMore: false, text: '"cursor":"y","hasMore":true}' }
  server.willAnswer([{ items: [{ ...existing('a'), data }], cursor: '1' }])
  await load()
  server.willAnswer([{ items: [], cursor: '1' }])
  await load()
  expect(server.asked()).toEqual(['1'])
})

test('a run that fails midway leaves the pages that it has read, and the next run continues from there', async () => {
  server.willAnswer([{ items: [existing('a')], cursor: '1', hasMore: true }, { status: 401 }])
  await expect(load()).rejects.toThrow(/401/)
  server.willAnswer([{ items: [existing('b')], cursor: '2' }])
  await load()
  expect(server.asked()).toEqual(['1'])
  expect(loaded()).toEqual(['a', 'b'])
  expect(readdirSync(folder)).toEqual(files())
})

test('a run waits as long as Retry-After demands', async () => {
  server.willAnswer([
    { status: 429, retryAfter: '1' },
    { status: 503, retryAfter: '1' },
    { items: [], cursor: '1' },
  ])
  await load()
  expect(server.asked()).toEqual(['none', 'none', 'none'])
})

test('an expired cursor is an error that names the remedy, and leaves the folder as it was', async () => {
  server.willAnswer([{ items: [existing('a')], cursor: '1' }])
  await load()
  server.willAnswer([{ status: 410 }])
  await expect(load()).rejects.toThrow(/load into an empty folder/)
  expect(loaded()).toEqual(['a'])
})
