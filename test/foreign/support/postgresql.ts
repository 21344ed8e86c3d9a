import { execFile } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { changeOwner, unprivilegedUser } from '../../../tools/engines/permissions.ts'
import { choosePort } from '../../../tools/engines/ports.ts'
import { runSupervised, startSupervised } from '../../../tools/engines/supervisedProgram.ts'
import { eventually, succeeds } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporaryFolder.ts'
import { describeWith } from './describeWith.ts'

const initialisingMs = 120_000
const statementMs = 30_000

/** The newest version installed by Debian's packages. */
const newest = globSync('/usr/lib/postgresql/*/bin')
  .filter((folder) => existsSync(join(folder, 'initdb')))
  .toSorted((one, other) => majorOf(one) - majorOf(other))
  .at(-1)

function majorOf(folder: string): number {
  return Number(/postgresql\/(\d+)/.exec(folder)?.[1])
}

export const describePostgresql = describeWith('postgresql', newest !== undefined)

/** A PostgreSQL on loopback, for one test file, with logical decoding and without passwords. */
export type Postgresql = {
  readonly port: number
  /** Runs SQL as the superuser, in one transaction; returns the result of the last query, unaligned. */
  run(sql: string): Promise<string>
  close(): Promise<void>
}

/** Starts an empty PostgreSQL. */
export async function startPostgresql(): Promise<Postgresql> {
  if (newest === undefined) throw new Error('there is no PostgreSQL: install Debian\'s package "postgresql"')
  const programs = newest
  const port = await choosePort()
  const folder = await temporaryFolder('tidemark-postgresql-')
  const home = join(folder, 'home')
  await mkdir(home)
  const user = unprivilegedUser()
  if (user !== undefined) await changeOwner(user, home)
  const asUser = { cwd: home, env: { HOME: home, LC_ALL: 'C.UTF-8' }, ...(user && { user }) }
  const logPath = join(folder, 'postgresql.log')
  const never = new AbortController().signal
  const initialise = ['-D', 'data', '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-locale', '--no-sync']
  await runSupervised(
    { command: join(programs, 'initdb'), args: initialise, ...asUser },
    { what: 'initdb', logPath, deadlineMs: initialisingMs, signal: never },
  )
  const settings = ['wal_level=logical', 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off']
  const args = ['-D', 'data', '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]
  const server = await startSupervised({ command: join(programs, 'postgres'), args, ...asUser }, { logPath }, never)
  const where = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-d', 'postgres']
  const run = async (sql: string): Promise<string> => {
    const flags = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-c', sql]
    const { stdout } = await promisify(execFile)(join(programs, 'psql'), [...where, ...flags], { timeout: statementMs })
    return stdout.trim()
  }
  await eventually(() => succeeds(run('SELECT 1')))
  return {
    port,
    run,
    close: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
