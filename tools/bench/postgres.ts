import { chown, mkdir, readdir, realpath, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { accessibleFolder, executable, findOnPath, unprivilegedUser } from '../engines/permissions.ts'
import { choosePort } from '../engines/ports.ts'
import { runSupervised, type SupervisedProgram, startSupervised } from '../engines/supervisedProgram.ts'
import { waitUntil } from '../engines/waiting.ts'
import type { SqlAddress } from './load/job.ts'
import type { Stage } from './stage.ts'

/** Says what is missing. */
export const withoutPostgres =
  'PostgreSQL is left out: this machine has no initdb and postgres. Debian, Ubuntu: apt-get install postgresql.'

const debianFolder = '/usr/lib/postgresql'
const user = 'bench'
const startDeadlineMs = 60_000
/** For a machine that PostgreSQL shares with other engines; nothing has to survive a crash. */
const settings = {
  shared_buffers: '1GB',
  effective_cache_size: '4GB',
  work_mem: '64MB',
  maintenance_work_mem: '512MB',
  max_wal_size: '4GB',
  random_page_cost: '1.1',
  fsync: 'off',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
}

/**
 * Starts an empty PostgreSQL on loopback, which ends with the stage and leaves nothing. Undefined when the machine has none.
 */
export async function startPostgres({ folder, logsFolder, signal, release }: Stage): Promise<SqlAddress | undefined> {
  const programs = await findPrograms()
  if (programs === undefined) return undefined
  const runAs = unprivilegedUser()
  const data = join(await accessibleFolder(join(folder, 'data'), runAs), 'postgres')
  await rm(data, { recursive: true, force: true })
  await mkdir(data, { recursive: true, mode: 0o700 })
  if (runAs !== undefined) await chown(data, runAs.uid, runAs.gid)
  release(() => rm(data, { recursive: true, force: true }))
  const logPath = join(logsFolder, 'postgres.log')
  await rm(logPath, { force: true })
  const command = (program: string, args: readonly string[]) => ({
    command: join(programs, program),
    args: ['-D', data, ...args],
    cwd: data,
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' },
    ...(runAs === undefined ? {} : { user: runAs }),
  })
  // Ids sort by their bytes, as in the replica; what is a letter, and its other case, is known of all scripts.
  const locale = ['--encoding', 'UTF8', '--locale', 'C', '--lc-ctype', 'C.UTF-8']
  const cluster = ['--username', user, '--auth', 'trust', ...locale, '--no-sync']
  await runSupervised(command('initdb', cluster), { what: 'initdb', logPath, deadlineMs: startDeadlineMs, signal })
  const port = await choosePort()
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const program = await startSupervised(command('postgres', ['-p', String(port), ...flags]), { logPath }, signal)
  release(() => program.stop())
  const address = { host: '127.0.0.1', port, user, database: 'postgres' }
  await untilAnswers(address, program, logPath, signal)
  return address
}

/** The folder of `initdb` and `postgres`: Debian keeps them out of PATH. The newest version is taken. */
async function findPrograms(): Promise<string | undefined> {
  const onPath = await findOnPath('postgres', process.env)
  const versions = await readdir(debianFolder).catch((): string[] => [])
  const folders = [
    ...(onPath === undefined ? [] : [dirname(await realpath(onPath))]),
    ...versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(debianFolder, version, 'bin')),
  ]
  for (const folder of folders)
    if ((await executable(join(folder, 'initdb'))) && (await executable(join(folder, 'postgres')))) return folder
  return undefined
}

async function untilAnswers(
  address: SqlAddress,
  program: SupervisedProgram,
  logPath: string,
  signal: AbortSignal,
): Promise<void> {
  const answers = async (): Promise<boolean> => {
    if (program.hasEnded()) throw new Error(`PostgreSQL ended; its log is ${logPath}`)
    return await connected(address, async () => true).catch(() => false)
  }
  if (await waitUntil(answers, { deadlineMs: startDeadlineMs, signal })) return
  throw new Error(`PostgreSQL does not answer; its log is ${logPath}`)
}

/** Lets `use` have a connection, which is closed afterwards. */
export async function connected<T>(address: SqlAddress, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(address)
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

export const postgresVersion = (address: SqlAddress): Promise<string> =>
  connected(address, async (client) => {
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
    return `PostgreSQL ${rows[0]?.server_version}`
  })
