import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acquireLock } from '../../../../tools/engines/lock.ts'
import { processStart } from '../../../../tools/engines/runningProcess.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-lock-'))
  path = join(folder, 'a.lock')
})
afterEach(() => rm(folder, { recursive: true }))

test('has one holder at a time, names its process, and leaves no file behind', async () => {
  const outcome = await acquireLock(path)
  expect(await acquireLock(path)).toEqual({ holderPid: process.pid })
  if ('lock' in outcome) await outcome.lock.release()
  expect(await readdir(folder)).toEqual([])
})

test('is taken over from a process that has ended', async () => {
  const child = spawn('sleep', ['60'])
  const pid = child.pid as number
  await writeFile(path, `${pid} ${await processStart(pid)}\n`)
  expect(await acquireLock(path)).toEqual({ holderPid: pid })
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await acquireLock(path)).toHaveProperty('lock')
})

test.each(['', 'nonsense', `${process.pid} of another start\n`])('is taken over when it holds %j', async (content) => {
  await writeFile(path, content)
  expect(await acquireLock(path)).toHaveProperty('lock')
})

test('is taken over when an earlier takeover was killed', async () => {
  await writeFile(path, 'nonsense')
  await writeFile(`${path}.takeover`, 'nonsense')
  expect(await acquireLock(path)).toHaveProperty('lock')
  expect(await readdir(folder)).toEqual(['a.lock'])
})

test('goes to exactly one of many that take it over at once', async () => {
  await writeFile(path, 'nonsense')
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => acquireLock(path)))
  expect(outcomes.filter((outcome) => 'lock' in outcome)).toHaveLength(1)
})
