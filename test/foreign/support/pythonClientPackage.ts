import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { useStarted } from '../../support/lifecycle.ts'
import type { PythonTools } from './python.ts'

const deadlineMs = 120_000

/** The Python client as its users have it. */
export type ClientPackage = {
  /** The interpreter of an environment with the client and what it needs, and nothing else. */
  readonly python: string
  /** Where its modules are installed. */
  readonly site: string
}

/** Builds the package, and installs it into an empty environment. */
export const useClientPackage = (tools: PythonTools): ClientPackage =>
  useStarted('the Python client', () => installPackage(tools))

async function installPackage(tools: PythonTools): Promise<ClientPackage> {
  const [wheels, environment] = [join(tools.folder, 'wheels'), join(tools.folder, 'empty')]
  const build = ['wheel', '--quiet', '--no-deps', '--no-index', '--no-build-isolation', '--wheel-dir', wheels]
  await tools.run('pip', [...build, resolve('clients/python')])
  await tools.run('python', ['-m', 'venv', '--without-pip', environment])
  const python = join(environment, 'bin/python')
  const built = (await readdir(wheels)).map((name) => join(wheels, name))
  const pinned = ['--python', python, '--constraint', resolve('test/foreign/python/clients.txt')]
  const install = ['pip', 'install', '--quiet', ...pinned, ...built]
  const env = { UV_CACHE_DIR: resolve('var/python/cache') }
  // What another run has fetched is enough, also on a machine without a network.
  await tools.run('uv', [...install, '--offline'], env).catch(() => tools.run('uv', install, env))
  const where = ['-c', 'import site; print(site.getsitepackages()[0])']
  const { stdout } = await promisify(execFile)(python, where, { timeout: deadlineMs })
  return { python, site: stdout.trim() }
}
