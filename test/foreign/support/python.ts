import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { jest } from '@jest/globals'
import { acquireLock, type Lock } from '../../../tools/engines/lock.ts'
import { readFrom } from '../../../tools/engines/logTail.ts'
import { executable, findOnPath } from '../../../tools/engines/permissions.ts'
import { runSupervised } from '../../../tools/engines/supervisedProgram.ts'
import { pause } from '../../../tools/engines/waiting.ts'
import { describeWith } from './describeWith.ts'

/** Python programs, in the versions of a requirements file under `test/foreign/python`. */
export type PythonTools = {
  /** Their HOME, for all files that they write: absolute path of a folder under `var`, deleted at the end. */
  readonly folder: string
  /** Runs a program and returns its output; rejects with the output when the program fails or exceeds the deadline. */
  run(tool: string, args: readonly string[], env?: Environment, deadlineMs?: number): Promise<string>
  /** Runs a script of this repository. */
  runScript(path: string, args: readonly string[], env?: Environment): Promise<string>
}

type Environment = Readonly<Record<string, string>>

const runDeadlineMs = 120_000

/** The deadline for installing the tools on a new machine, by this test process or by another one. */
const installDeadlineMs = 15 * 60_000

export const describePython = describeWith('python3', (await findOnPath('python3', process.env)) !== undefined)

const testTimeoutMs = 400_000
const stepDeadlineMs = 6 * 60_000
const pollMs = 200

/** Virtual environments. Airbyte's framework, the Singer tap, the Kubernetes schemas and generated clients need other versions of shared dependencies. */
export type PythonEnvironment = 'tools' | 'airbyte' | 'singer' | 'kubernetes' | 'clients'

const requirementFiles: Readonly<Record<PythonEnvironment, string>> = {
  tools: 'test/foreign/python/requirements.txt',
  airbyte: 'test/foreign/python/airbyte.txt',
  singer: 'test/foreign/python/singer.txt',
  kubernetes: 'test/foreign/python/kubernetes.txt',
  clients: 'test/foreign/python/clients.txt',
}

const installer = 'test/foreign/python/uv.txt'

/** Paths of an environment. `marker` is written last, and contains what is installed. */
const placesOf = (name: PythonEnvironment) => {
  const home = resolve('var/python', name)
  const environment = join(home, 'environment')
  return { home, environment, marker: join(home, 'installed'), requirements: resolve(requirementFiles[name]) }
}
type Places = ReturnType<typeof placesOf>

const programIn = ({ environment }: Places, tool: string): string => join(environment, 'bin', tool)

const isSuitable = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
const advice =
  'There is no python3 of 3.11 or newer with venv and pip on PATH. ' +
  'Debian, Ubuntu: apt-get install python3-venv; macOS: brew install python.'

/** The tools for all tests of a file, each of which may take `testTimeoutMs`; installs them first if missing. */
export function usePython(name: PythonEnvironment = 'tools'): PythonTools {
  jest.setTimeout(testTimeoutMs)
  const places = placesOf(name)
  let folder = ''
  beforeAll(async () => {
    await installed(places)
    folder = resolve(await mkdtemp('var/test-python-'))
  }, installDeadlineMs)
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const run: PythonTools['run'] = (tool, args, env = {}, deadlineMs = runDeadlineMs) => {
    // What Python compiles is kept for the next run, whatever the environment says, and outside of this repository's folders.
    const compiled = { PYTHONDONTWRITEBYTECODE: '', PYTHONPYCACHEPREFIX: join(places.home, 'compiled') }
    const own = { ...env, ...compiled, HOME: folder, PYTHONUTF8: '1' }
    return runProgram(programIn(places, tool), args, { what: tool, folder, env: own, deadlineMs })
  }
  return {
    get folder() {
      return folder
    },
    run,
    runScript: (path, args, env) => run('python', [resolve(path), ...args], env),
  }
}

async function installed(places: Places): Promise<void> {
  const wanted = createHash('sha256').update(await readFile(places.requirements))
  await mkdir(places.home, { recursive: true })
  const lock = await takeTurn(places.home)
  try {
    await install(places, wanted.digest('hex'))
  } finally {
    await lock.release()
  }
}

/** Locks the installation, so that test processes install one after the other. */
async function takeTurn(home: string): Promise<Lock> {
  const signal = AbortSignal.timeout(installDeadlineMs)
  for (;;) {
    const outcome = await acquireLock(join(home, 'lock'))
    if ('lock' in outcome) return outcome.lock
    await pause(pollMs, signal)
  }
}

async function install(places: Places, wanted: string): Promise<void> {
  const { home, environment, marker, requirements } = places
  const installed = await readFile(marker, 'utf8').catch(() => undefined)
  if (installed === wanted && (await executable(programIn(places, 'python')))) return
  const step = (what: string, program: string, args: readonly string[]): Promise<string> =>
    runProgram(program, args, { what, folder: home, deadlineMs: stepDeadlineMs })
  const python = (await findOnPath('python3', process.env)) ?? 'python3'
  await step('python3', python, ['-c', isSuitable]).catch((error: unknown) => {
    throw new Error(advice, { cause: error })
  })
  process.stderr.write(`python: installing what ${requirements} names\n`)
  await rm(marker, { force: true })
  await step('venv', python, ['-m', 'venv', '--clear', environment])
  // Python compiles what a test imports, which is a small part of what is installed.
  const quietly = ['--no-input', '--disable-pip-version-check', '--no-compile']
  const pip = (file: string): Promise<string> =>
    step('pip', programIn(places, 'pip'), ['install', ...quietly, '--requirement', file])
  await pip(resolve(installer))
  const quickly = ['pip', 'install', '--python', environment, '--no-deps', '--requirement', requirements]
  // It takes a quarter of the time, but does not know what the machine may have told pip, such as where packages are.
  await step('uv', programIn(places, 'uv'), quickly).catch(() => pip(requirements))
  await writeFile(marker, wanted)
  process.stderr.write('python: ready\n')
}

async function runProgram(
  command: string,
  args: readonly string[],
  { what, folder, env = {}, deadlineMs }: { what: string; folder: string; env?: Environment; deadlineMs: number },
): Promise<string> {
  const logPath = join(folder, `${what}.log`)
  await rm(logPath, { force: true })
  const order = { command, args: [...args], cwd: folder, env: { ...definedIn(process.env), ...env } }
  try {
    await runSupervised(order, { what, logPath, deadlineMs, signal: new AbortController().signal })
  } catch (error) {
    throw new Error(`${(error as Error).message}; it said:\n${await readFrom(logPath, 0)}`, { cause: error })
  }
  return await readFrom(logPath, 0)
}

const definedIn = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
