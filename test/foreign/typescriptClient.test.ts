import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { truthFor } from '../model/follower.ts'
import { useBrowser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startLocalServer } from '../support/localServer.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Json, randomHistory, stateRecord } from '../support/randomHistory.ts'
import { temporaryFolder } from '../support/temporaryFolder.ts'
import { installClient, installRuntimes } from './support/typescriptClientPackage.ts'

const team = 'acme'
const installDeadlineMs = 15 * 60_000

const pipeline = usePipeline()
beforeAll(() => pipeline.startIndexer())
const api = useStarted('the API', () => pipeline.startApi())
const browser = useBrowser()

let folder = ''
let client: Awaited<ReturnType<typeof installClient>>
let runtimes: Awaited<ReturnType<typeof installRuntimes>>
beforeAll(async () => {
  folder = await temporaryFolder('tidemark-client-')
  client = await installClient(folder)
  runtimes = await installRuntimes()
}, installDeadlineMs)
afterAll(() => rm(folder, { recursive: true, force: true }))

const history = randomHistory(620, 900)
beforeAll(async () => {
  await pipeline.createKeys(history.teams)
  await pipeline.produceHistory(history.records)
  await pipeline.untilApplied(api, team)
})

const asPrinted = (value: unknown): Json => JSON.parse(JSON.stringify(value))
const listed = (list: 'forms' | 'records'): Json[] => asPrinted([...truthFor({ team, list }, history.records).values()])
const byId = (items: readonly Json[]): Json[] => items.toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** What a program says, and what a test waits for. */
class Heard {
  readonly #said: [what: string, value: Json][] = []

  say(what: string, value: Json): void {
    this.#said.push([what, value])
  }

  of(what: string): Json[] {
    return this.#said.filter(([said]) => said === what).map(([, value]) => value)
  }
}

/** Expects what the program says to be right while one submission comes and goes. */
async function expectRight(runtime: string, ended: Promise<unknown>, heard: Heard): Promise<void> {
  const id = `live-${runtime}`
  const key = `${team}/${id}`
  const changeOnceFollowing = async (): Promise<void> => {
    await eventually(() => heard.of('following').length > 0)
    await pipeline.produceHistory([stateRecord('submissions', key, 1, { formId: 'f-live' })])
    await eventually(() => heard.of('change').length > 0)
    await pipeline.produceHistory([stateRecord('submissions', key, null)])
  }
  await Promise.all([ended, changeOnceFollowing()])

  const records = listed('records')
  const ids = records.map(({ id: known }) => known).sort()
  const [copies] = heard.of('copies')
  expect(byId(copies.forms)).toEqual(byId(listed('forms')))
  expect(byId(copies.records)).toEqual(byId(records))
  const [answers] = heard.of('answers')
  expect({ ...answers, exported: answers.exported.toSorted(), listed: answers.listed.toSorted() }).toEqual({
    exported: ids,
    listed: ids,
    since: [],
    pageMembers: [0, 1, 2].map(() => ['result', 'id']),
    records: ids.length,
    record: [copies.records[0].id, 'object'],
    summary: expect.any(String),
    form: [true, true, false, false],
    counted: ids.length,
    countedByDay: ids.length,
    scored: records.filter(({ result }) => typeof result.score === 'number').length,
    times: true,
  })
  expect(heard.of('refusals')).toEqual([
    [
      ['BadRequestError', 400, 'bad_request', 'cursor'],
      ['BadRequestError', 400, 'bad_request', 'limit'],
      ['NotFoundError', 404, 'not_found', null],
      ['UnauthorizedError', 401, 'unauthorized', null],
    ],
  ])
  expect(heard.of('change')).toEqual([
    [id, 'f-live'],
    [id, 'deleted'],
  ])
}

/** Runs the program, which prints a line of JSON for all that it says. Rejects when it fails. */
async function runProgram(command: string, args: readonly string[], heard: Heard): Promise<void> {
  const environment = { ...process.env, DENO_DIR: join(folder, 'deno'), DENO_NO_UPDATE_CHECK: '1' }
  const program = [...args, 'main.mjs', `${api.url}/api/v1`, pipeline.keyOf(team)]
  const child = spawn(command, program, { cwd: client.project, env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  let begun = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (begun + text).split('\n')
    begun = lines.pop() ?? ''
    for (const line of lines) heard.say(...(JSON.parse(line) as [string, Json]))
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${complaints}`)
}

test('its types are those of the current OpenAPI description', async () => {
  expect(await readFile('clients/typescript/src/openapi.ts', 'utf8')).toBe(await client.generateTypes())
})

test('the package has the compiled files, and nothing else', () => {
  expect(client.packed).toEqual(
    expect.arrayContaining(['README.md', 'package.json', 'dist/index.js', 'dist/index.d.ts']),
  )
  expect(client.packed.filter((path) => !/^(?:README\.md|package\.json|dist\/\w+\.(?:js|d\.ts))$/.test(path))).toEqual(
    [],
  )
})

test('programs compile in strict mode with the types of Node alone, and in Deno', async () => {
  expect(await client.compileForNode()).toBe('')
  expect(await client.checkByDeno(runtimes.deno)).toBe('')
})

test.each([
  ['node20', () => [runtimes.node20]],
  ['node', () => [process.execPath]],
  ['deno', () => [runtimes.deno, 'run', '--quiet', '--no-prompt', '--allow-net']],
])('a program can copy, export, list, count and follow, and gets refusals: %s', async (runtime, commandLine) => {
  const [command = '', ...args] = commandLine()
  const heard = new Heard()
  await expectRight(runtime, runProgram(command, args, heard), heard)
})

test('a page in a browser can do the same on the origin of the API', async () => {
  const page = `<!doctype html><script type="importmap">{"imports": {"tidemark-client": "/dist/index.js"}}</script>`
  const site = await startLocalServer(async (asked, response) => {
    const { url: path = '/', headers, method } = asked
    if (path.startsWith('/api/')) {
      const onward = request(new URL(path, api.url), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      onward.on('error', () => response.destroy())
      response.on('close', () => onward.destroy())
      onward.end()
      return
    }
    const isScript = path.endsWith('.js')
    const file = path === '/program.js' ? 'program.js' : `node_modules/tidemark-client${path}`
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? await readFile(join(client.project, file)) : page)
  })
  const heard = new Heard()
  try {
    const { page: tab, complaints } = await browser.visit()
    await tab.exposeFunction('say', (what: string, value: Json) => heard.say(what, value))
    await tab.goto(site.url)
    const options = JSON.stringify({ baseUrl: '/api/v1', accountKey: pipeline.keyOf(team) })
    const running = tab.evaluate(`import('/program.js').then(({ run }) => run(${options}, say))`)
    await expectRight('browser', running, heard)
    expect(complaints).toEqual([])
  } finally {
    await site.close()
  }
})
