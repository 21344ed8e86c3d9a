import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { acquireLock } from '../../../../tools/engines/lock.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-lock-'))
  path = join(folder, 'a.lock')
})
afterEach(() => rm(folder, { recursive: true }))

test('has one holder at a time, names its process, and is free once released', async () => {
  const outcome = await acquireLock(path)
  expect(await acquireLock(path)).toEqual({ holderPid: process.pid })
  if ('lock' in outcome) await outcome.lock.release()
  expect(await acquireLock(path)).toHaveProperty('lock')
})

test('is free once the process that held it was killed', async () => {
  const script = `const { acquireLock } = await import('${resolve('tools/engines/lock.ts')}')
    await acquireLock('${path}')
    console.log('held')
    setInterval(() => undefined, 1_000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
  await once(child.stdout, 'data')
  expect(await acquireLock(path)).toEqual({ holderPid: child.pid })
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await acquireLock(path)).toHaveProperty('lock')
})

test('goes to exactly one of many that ask at once, whatever an older version has left', async () => {
  await writeFile(path, 'nonsense')
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => acquireLock(path)))
  expect(outcomes.filter((outcome) => 'lock' in outcome)).toHaveLength(1)
})
