import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, resolve } from 'node:path'
import { chooseDistinctPorts } from '../../tools/engines/ports.ts'
import { useReplica } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { send } from '../support/inProcess.ts'
import { killPrograms, probe, startProgram, untilReady, untilReported } from '../support/programs.ts'

const { replica, keyOf } = useReplica()
const groups = new Set<number>()
afterEach(() => {
  killPrograms()
  for (const pid of groups) process.kill(-pid, 'SIGKILL')
  groups.clear()
})

/** What people start the API with, in a folder. */
const starts = {
  'npm run api': { command: ['npm', 'run', 'api'], cwd: '.' },
  'bin/tidemark api': { command: ['bin/tidemark', 'api'], cwd: '.' },
  'the entrypoint of the image': { command: ['tidemark', 'api'], cwd: '/' },
} as const
type Start = keyof typeof starts

/** Longer than the second within which signals are one: who took the second for another one would end the drain. */
const drainMs = 1_500

/** Starts the API in a process group of its own, as a terminal, systemd and most supervisors do. */
async function startGroup(how: Start) {
  const [port = 0, adminPort = 0] = await chooseDistinctPorts(2)
  const [program, ...args] = starts[how].command
  const own = { INDEX_PREFIX: replica.prefix, HOST: '127.0.0.1', PORT: String(port), ADMIN_PORT: String(adminPort) }
  const PATH = [resolve('bin'), process.env['PATH']].join(delimiter)
  const settings = { ...own, DRAIN_MS: String(drainMs), RATE_LIMIT_PER_MINUTE: '1000000' }
  const env = { ...process.env, PATH, ...settings }
  const child = spawn(program, args, { cwd: starts[how].cwd, env, detached: true, stdio: 'ignore' })
  const { pid = 0 } = child
  groups.add(pid)
  const exited = once(child, 'exit').finally(() => groups.delete(pid)) as Promise<[code: number | null]>
  const adminUrl = `http://127.0.0.1:${adminPort}`
  await eventually(() =>
    fetch(`${adminUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return { port, pid, exited: exited.then(([code]) => code) }
}

/** Asks one request after the other, each on a connection of its own, until one is not answered. */
async function askUntilRefused(port: number) {
  const statuses = new Set<number>()
  for (;;) {
    const askedAtMs = performance.now()
    const told = await send(port, '/api/v1/forms', { key: keyOf('team-1') }).catch(() => undefined)
    if (told === undefined) return { statuses: [...statuses], askedAtMs }
    statuses.add(told.status)
  }
}

/** Signals the API, or its whole group, while it is asked: tells what it answered, how long, and how it has ended. */
async function stopWhileAsked(how: Start, isGroup: boolean) {
  const { port, pid, exited } = await startGroup(how)
  const asking = askUntilRefused(port)
  const signalledAtMs = performance.now()
  process.kill(isGroup ? -pid : pid, 'SIGTERM')
  const { statuses, askedAtMs } = await asking
  return { statuses, drains: askedAtMs - signalledAtMs > drainMs, exitCode: await exited }
}

const drained = { statuses: [200], drains: true, exitCode: 0 }

test.each(Object.keys(starts) as Start[])(
  '%s answers every request for DRAIN_MS after SIGTERM to it or its process group, then ends with exit code 0',
  async (how) => {
    const [itself, group] = await Promise.all([false, true].map((isGroup) => stopWhileAsked(how, isGroup)))
    expect({ itself, group }).toEqual({ itself: drained, group: drained })
  },
)

/** Whether a process is still there to be signalled. */
function isSignalled(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGINT')
  } catch {
    return false
  }
}

test('a draining process is not ready, serves, and ends at once on a second signal a second later', async () => {
  const settings = { INDEX_PREFIX: replica.prefix, DRAIN_MS: '600000', RATE_LIMIT_PER_MINUTE: '1000000' }
  const api = await startProgram('api', settings)
  await untilReady(api)
  process.kill(api.pid, 'SIGTERM')
  await untilReported(api, 'process', /^is stopping$/)
  expect((await probe(api, 'livez')).code).toBe(200)
  expect((await send(Number(new URL(api.url).port), '/api/v1/forms', { key: keyOf('team-1') })).status).toBe(200)
  await eventually(() => !isSignalled(api.pid))
  expect(await api.ended()).toBe(0)
})
