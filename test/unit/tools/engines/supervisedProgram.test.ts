import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { withLog } from '../../../../tools/engines/logTail.ts'
import { runSupervised } from '../../../../tools/engines/supervisedProgram.ts'
import type { SupervisorRequest } from '../../../../tools/engines/supervisor.ts'
import { waitUntil } from '../../../../tools/engines/waiting.ts'
import { isRunning } from '../../../support/processTree.ts'

const { signal } = new AbortController()
let folder: string
let logPath: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-supervisor-'))
  logPath = join(folder, 'a.log')
})
afterEach(() => rm(folder, { recursive: true }))

const shell = (script: string) => ({ command: 'sh', args: ['-c', script], cwd: folder, env: { PATH: '/usr/bin:/bin' } })

/** The pids that the script printed, once there are so many. */
const printedPids = async (count: number): Promise<number[]> => {
  let pids: number[] = []
  const enough = async () => {
    // The log is there once the program has started.
    const log = await readFile(logPath, 'utf8').catch(() => '')
    pids = log.split('\n').filter(Boolean).map(Number)
    return pids.length >= count
  }
  expect(await waitUntil(enough, { deadlineMs: 10_000, signal })).toBe(true)
  return pids
}

const allGone = (pids: number[]) =>
  waitUntil(async () => !(await Promise.all(pids.map(isRunning))).includes(true), {
    deadlineMs: 10_000,
    signal,
  })

test.each([
  ['that ignores SIGTERM', "trap '' TERM; echo $$; while :; do sleep 1; done"],
  ['that is stopped by SIGSTOP', 'echo $$; kill -STOP $$; sleep 60'],
])('a program %s ends with the process that started its supervisor', async (_, script) => {
  const supervisorPath = fileURLToPath(new URL('../../../../tools/engines/supervisor.ts', import.meta.url))
  const request: SupervisorRequest = { ...shell(script), graceMs: 300 }
  const starter = `
    const { spawn } = require('node:child_process')
    const { openSync } = require('node:fs')
    const log = openSync(${JSON.stringify(logPath)}, 'a')
    const supervisor = spawn(process.execPath, [${JSON.stringify(supervisorPath)}], { detached: true, stdio: ['pipe', 'pipe', log] })
    supervisor.stdin.write(${JSON.stringify(`${JSON.stringify(request)}\n`)})
    supervisor.stdout.once('data', () => console.log(supervisor.pid))`
  const child = spawn(process.execPath, ['-e', starter], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [supervisorPid] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const pids = [...(await printedPids(1)), Number(supervisorPid)]
  child.kill('SIGKILL')
  expect(await allGone(pids)).toBe(true)
})

test('a failed run is reported with the last lines of its own output', async () => {
  await runSupervised(shell('echo before'), { what: 'First', logPath, deadlineMs: 10_000, signal })
  const run = withLog({ name: 'kafka', logPath, signal }, () =>
    runSupervised(shell('echo one; echo two >&2; exit 4'), { what: 'Second', logPath, deadlineMs: 10_000, signal }),
  )
  await expect(run).rejects.toThrow(`kafka: Second exited with code 4. The end of ${logPath}:\n  one\n  two`)
})

test('a run that takes too long is ended', async () => {
  const run = runSupervised(shell('echo $$; sleep 60'), { what: 'It', logPath, deadlineMs: 300, signal })
  await expect(run).rejects.toThrow('It took longer than 0.3 s')
  expect(await allGone(await printedPids(1))).toBe(true)
})
