import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isRunning, treeOf } from '../support/processTree.ts'
import { useFolder } from '../support/temporaryFolder.ts'

const run = promisify(execFile)
const testTimeoutMs = 300_000
const readyDeadlineMs = 200_000
const arrivalDeadlineMs = 45_000
const stopDeadlineMs = 10_000
/** The key's 120 requests a minute must last. */
const pollMs = 1_000

type DemoFile = {
  baseUrl: string
  keys: { team: string; key: string }[]
  settingsUrl: string
  forms: number
  submissions: number
}
type List = { totalDocs: number; items: { id: string }[] }
type Submission = { reportResult: { status: string } }

afterAll(() => void demo.kill('SIGKILL'))
const folder = useFolder()
let output = ''
const demo = startDemo()

test(
  'the demo serves the URLs that it prints until it is stopped, and leaves no process or file',
  async () => {
    const { baseUrl, keys, ...file } = await untilDefined(readDemoFile, readyDeadlineMs)
    expect(file.submissions).toBe(200)
    const forms = keys.map(async ({ key }) => (await ask<List>(`${baseUrl}/forms?limit=1`, key)).totalDocs)
    expect(sum(await Promise.all(forms))).toBe(file.forms)
    const records = keys.map(async ({ key }) => (await ask<List>(`${baseUrl}/records?limit=1`, key)).totalDocs)
    expect(sum(await Promise.all(records))).toBeGreaterThanOrEqual(file.submissions)

    const key = keys[0]?.key ?? ''
    await untilDefined(async () => (output.includes('Ctrl-C') ? true : undefined), arrivalDeadlineMs)
    expect(output).toContain(`curl -s -H "Authorization: Bearer ${key}" "${baseUrl}/records`)

    const printed = /Settings {2}(\S+)/.exec(output)?.[1] ?? ''
    const args = ['bin/tidemark.ts', 'sign-in', '--folder', folder]
    const another = (await run(process.execPath, args)).stdout.trim()
    for (const link of [printed, another]) {
      expect(link.startsWith(`${file.settingsUrl}/sign-in?token=`)).toBe(true)
      const { status, headers } = await fetch(link, { redirect: 'manual' })
      expect([status, new URL(headers.get('location') ?? '', link).pathname]).toEqual([303, '/keys'])
    }

    const statusUrl = /How far they are: (\S+)/.exec(output)?.[1] ?? ''
    const status = await fetch(statusUrl)
    expect([status.status, await status.text()]).toEqual([200, expect.stringContaining('Tidemark status')])
    for (const url of [baseUrl, file.settingsUrl, statusUrl])
      await expect(fetch(url.replace('127.0.0.1', '127.0.0.2'))).rejects.toThrow('fetch failed')

    const newest = async (): Promise<string[]> =>
      (await ask<List>(`${baseUrl}/records?limit=100`, key)).items.map(({ id }) => id)
    const known = await newest()
    const arrived = await untilDefined(
      async () => (await newest()).find((id) => !known.includes(id)),
      arrivalDeadlineMs,
    )
    await untilDefined(async () => {
      const { reportResult } = await ask<Submission>(`${baseUrl}/records/${arrived}`, key)
      return ['completed', 'failed'].find((status) => status === reportResult.status)
    }, arrivalDeadlineMs)

    const family = (await treeOf(demo.pid ?? 0)).slice(1)
    expect(family.length).toBeGreaterThan(9)
    const exited = once(demo, 'exit', { signal: AbortSignal.timeout(stopDeadlineMs) })
    demo.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(await Promise.all(family.map(isRunning))).not.toContain(true)
    await expect(readDemoFile()).resolves.toBeUndefined()
  },
  testTimeoutMs,
)

/** With engines of its own, whatever the tests' engines are. */
function startDemo(): ChildProcess {
  const { ELASTICSEARCH_URL: _e, KAFKA_BROKERS: _k, REDIS_URL: _r, ...env } = process.env
  const options = ['--submissions', '200', '--folder', folder, '--distributions', 'var/engines']
  const args = ['--disable-warning=TimeoutNegativeWarning', 'bin/tidemark.ts', 'demo', ...options]
  const started = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  started.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  return started
}

async function readDemoFile(): Promise<DemoFile | undefined> {
  if (demo.exitCode !== null && demo.exitCode !== 0) throw new Error(`the demo exited with ${demo.exitCode}`)
  const text = await readFile(join(folder, 'demo.json'), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as DemoFile)
}

async function ask<Answer>(url: string, key: string): Promise<Answer> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  expect(response.status).toBe(200)
  return (await response.json()) as Answer
}

async function untilDefined<T>(read: () => Promise<T | undefined>, deadlineMs: number): Promise<T> {
  const end = Date.now() + deadlineMs
  for (;;) {
    const value = await read()
    if (value !== undefined) return value
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${read}; the demo said:\n${output}`)
    await sleep(pollMs)
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
