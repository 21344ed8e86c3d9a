import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'

import { type EngineUrls, startCluster } from '../../tools/engines/engines.ts'
import { waitUntil } from '../../tools/engines/waiting.ts'
import { listenLocally } from '../support/localServer.ts'
import { isRunning, treeOf } from '../support/processTree.ts'
import { useFolder } from '../support/temporaryFolder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const distributions = join(root, 'var', 'engines')
const { signal } = new AbortController()
const startMs = 100_000
const stopMs = 10_000

let stub: Server
/** Stand-ins for Elasticsearch and Kafka, for tests of the others: they accept connections. */
let externalStubs: Pick<EngineUrls, 'ELASTICSEARCH_URL' | 'KAFKA_BROKERS'>
let forgotten: number[] = []

beforeEach(async () => {
  stub = createServer((socket) => socket.destroy())
  const port = await listenLocally(stub)
  externalStubs = { ELASTICSEARCH_URL: `http://127.0.0.1:${port}`, KAFKA_BROKERS: `127.0.0.1:${port}` }
})
afterEach(async () => {
  stub.close()
  for (const pid of forgotten) if (await isRunning(pid)) process.kill(pid, 'SIGTERM')
  await untilGone(forgotten)
  forgotten = []
})
const folder = useFolder({ forEachTest: true })

const start = (command: string, args: string[], external: Partial<EngineUrls>) => {
  const notExternal = { ELASTICSEARCH_URL: '', KAFKA_BROKERS: '', REDIS_URL: '' }
  const child = spawn(command, [...args, '--folder', folder, '--distributions', distributions], {
    cwd: root,
    env: { ...process.env, ...notExternal, ...external },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const pid = child.pid as number
  forgotten.push(pid)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const exit = once(child, 'close').then(([code, by]) => ({ code, by, output }) as const)
  return { pid, exit, kill: (name: NodeJS.Signals) => child.kill(name), output: () => output }
}
const startMain = (external: Partial<EngineUrls>) => start('bin/tidemark', ['engines'], external)

const readEnginesFile = async (): Promise<Record<string, string>> => {
  const text = await readFile(join(folder, 'engines.env'), 'utf8').catch(() => '')
  return Object.fromEntries(
    text.split('\n').flatMap((line) => [...line.matchAll(/^(\w+)=(.*)$/g)].map(([, n, v]) => [n, v])),
  )
}

/** What engines.env says once the program says that all engines answer. */
const untilReady = async (running: ReturnType<typeof start>): Promise<EngineUrls> => {
  const told = async () => running.output().includes('All engines answer') || !(await isRunning(running.pid))
  expect(await waitUntil(told, { deadlineMs: startMs, signal })).toBe(true)
  const urls = await readEnginesFile()
  if (urls['REDIS_URL'] === undefined) throw new Error(`The engines did not start:\n${running.output()}`)
  return urls as EngineUrls
}

const watchedTreeOf = async (pid: number): Promise<number[]> => {
  const tree = await treeOf(pid)
  forgotten.push(...tree)
  return tree
}

const untilGone = (pids: number[]): Promise<boolean> =>
  waitUntil(async () => !(await Promise.all(pids.map(isRunning))).includes(true), { deadlineMs: stopMs, signal })

const pingRedis = async (url: string): Promise<string> => {
  const redis = new Redis(url)
  try {
    return await redis.ping()
  } finally {
    redis.disconnect()
  }
}

test('when npm is killed, no engine keeps running', async () => {
  const npm = start('npm', ['run', 'engines', '--'], externalStubs)
  await untilReady(npm)
  const tree = await watchedTreeOf(npm.pid)
  expect(tree.length).toBeGreaterThanOrEqual(2 + 2)
  npm.kill('SIGKILL')
  expect(await untilGone(tree)).toBe(true)
  expect(await readEnginesFile()).toEqual({})
})

test('an external engine is not started; a second start in the folder is refused; SIGTERM leaves nothing', async () => {
  const first = startMain(externalStubs)
  const urls = await untilReady(first)
  expect(urls).toMatchObject(externalStubs)
  expect(await pingRedis(urls.REDIS_URL)).toBe('PONG')
  const tree = await watchedTreeOf(first.pid)
  expect(tree).toHaveLength(3)

  const second = await startMain(externalStubs).exit
  expect(second.code).toBe(1)
  expect(second.output).toContain(`process ${first.pid} runs them`)
  expect(await readEnginesFile()).toEqual(urls)

  first.kill('SIGTERM')
  expect(await first.exit).toMatchObject({ code: 0, by: null })
  expect(await untilGone(tree)).toBe(true)
  expect(await readEnginesFile()).toEqual({})
})

test('when the command is killed, no engine keeps running, and the next start uses the same folder', async () => {
  const killed = startMain(externalStubs)
  await untilReady(killed)
  const tree = await watchedTreeOf(killed.pid)
  killed.kill('SIGKILL')
  const next = startMain(externalStubs)
  expect(await untilGone(tree)).toBe(true)
  const { REDIS_URL } = await untilReady(next)
  expect(await pingRedis(REDIS_URL)).toBe('PONG')
  next.kill('SIGTERM')
  expect(await next.exit).toMatchObject({ code: 0 })
})

// Each node of a cluster runs as a user of its own.
const asRoot = process.getuid?.() === 0 ? test : test.skip
asRoot('a cluster starts also in a folder that only its owner may enter', async () => {
  const closed = join(folder, 'closed')
  await mkdir(closed, { mode: 0o700 })
  const { TMPDIR } = process.env
  process.env['TMPDIR'] = folder
  try {
    const cluster = await startCluster({ folder: closed, clean: true, quick: true, signal, only: ['redis'] })
    const urls = [...cluster.redis, ...cluster.sentinels].map(({ url }) => url)
    expect(await Promise.all(urls.map(pingRedis))).toEqual(urls.map(() => 'PONG'))
    await cluster.stop()
  } finally {
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
  }
})

test('when an engine ends by itself, the command reports it and ends', async () => {
  const running = startMain(externalStubs)
  await untilReady(running)
  const tree = await watchedTreeOf(running.pid)
  process.kill(tree.at(-1) as number, 'SIGKILL')
  const { code, output } = await running.exit
  expect(code).toBe(1)
  expect(output).toContain(`redis was ended by SIGKILL; its log is ${join(folder, 'logs', 'redis.log')}`)
  expect(await untilGone(tree)).toBe(true)
})
