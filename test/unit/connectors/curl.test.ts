import { execFile } from 'node:child_process'
import { linkSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startLocalServer } from '../../support/localServer.ts'
import { useFolder } from '../../support/temporaryFolder.ts'

const first = '1970-01-01T00:00:00.000Z'
const [earlier, later] = ['2026-11-22T15:49:59.817Z', '2026-11-22T15:50:00.000Z']

const folder = useFolder({ forEachTest: true })
let watermark: string | undefined
/** What the answer to each `changedSince` holds. */
let changes: Record<string, readonly string[]>
const server = await startLocalServer(({ url = '' }, response) => {
  if (watermark !== undefined) response.setHeader('Replica-Watermark', watermark)
  const since = new URL(url, 'http://api').searchParams.get('changedSince') ?? ''
  response.end((changes[since] ?? []).map((id) => `{"id":"${id}"}\n`).join(''))
})
afterAll(() => server.close())

const load = (): Promise<unknown> => {
  const env = { ...process.env, TIDEMARK_URL: server.url, TIDEMARK_KEY: 'key' }
  return promisify(execFile)('sh', ['connectors/snippets/curl.sh', folder], { env })
}
const files = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith('records-'))
    .sort()
const loaded = (): string[] =>
  files().map((name) => readFileSync(join(folder, name), 'utf8').replace(/\D+/g, ' ').trim())

test('a run after which the watermark has not moved leaves what earlier ones have loaded', async () => {
  watermark = earlier
  changes = { [first]: ['1', '2', '3'], [earlier]: ['3'] }
  for (const _ of ['first', 'second', 'third']) await load()
  expect(loaded()).toEqual(['1 2 3', '3'])
  watermark = later
  changes = { [earlier]: ['3', '4'], [later]: ['4', '5'] }
  for (const _ of ['fourth', 'fifth']) await load()
  // The later a file's name, the newer is what it says.
  expect(loaded()).toEqual(['1 2 3', '3', '3 4', '4 5'])
})

test('a run that is killed leaves a whole watermark, the one before or its own', async () => {
  watermark = earlier
  changes = {}
  await load()
  // A name of the file as it is now: it stays as it is when another file takes its place.
  linkSync(join(folder, 'watermark'), join(folder, 'before'))
  watermark = later
  await load()
  expect(['before', 'watermark'].map((name) => readFileSync(join(folder, name), 'utf8').trim())).toEqual([
    earlier,
    later,
  ])
})

test('an answer without a watermark is an error, and the next run begins where this one did', async () => {
  watermark = earlier
  changes = { [first]: ['1'], [earlier]: ['2'] }
  await load()
  watermark = undefined
  await expect(load()).rejects.toThrow(/no Replica-Watermark/)
  watermark = later
  await load()
  expect(loaded()).toEqual(['1', '2'])
})
