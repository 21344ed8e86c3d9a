import { execFile } from 'node:child_process'
import { cp, mkdir, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { installPackages } from '../../support/installPackages.ts'
import type { Json } from '../../support/randomHistory.ts'
import { temporaryFolder } from '../../support/temporaryFolder.ts'

export type N8nPackage = {
  /** Has `dist` and `package.json`, as `npm pack` takes them. */
  readonly folder: string
  /** Runs n8n's tool for makers of nodes; resolves with what it says, however it ends. */
  tool(command: 'lint' | 'build'): Promise<string>
  /** The classes of the package as a new process of n8n loads them. */
  load(): Promise<Classes>
  close(): Promise<void>
}

export type Classes = {
  readonly TidemarkApi: new () => Json
  readonly Tidemark: new () => Json
  readonly TidemarkTrigger: new () => Json
  /** A module of the package, such as `nodes/shared/exactJson`. */
  module(path: string): Json
}

const runMs = 5 * 60_000
const colour = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[a-zA-Z]`, 'g')

/** A copy of `connectors/n8n`, with n8n's own linter, compiler and `n8n-workflow`; installs these first if missing. */
export async function openN8nPackage(): Promise<N8nPackage> {
  const home = await temporaryFolder('tidemark-n8n-')
  const folder = join(home, 'package')
  const isSource = (path: string): boolean => !['node_modules', 'dist'].includes(basename(path))
  await cp(resolve('connectors/n8n'), folder, { recursive: true, filter: isSource })
  const tools = await installPackages('test/foreign/n8n', 'var/clients')
  for (const place of [home, folder]) await symlink(join(tools, 'node_modules'), join(place, 'node_modules'))
  let loads = 0
  return {
    folder,
    tool: async (command) => {
      // Within a test, which Jest calls so, n8n's rules look for other names of files.
      const env = { ...process.env, NODE_ENV: 'production' }
      const options = { cwd: folder, timeout: runMs, env }
      const program = join(folder, 'node_modules/.bin/n8n-node')
      const { stdout, stderr } = await promisify(execFile)(program, [command], options).catch((error: Json) => error)
      return `${stdout}${stderr}`.replace(colour, '')
    },
    load: async () => {
      loads += 1
      // Modules of their own, because a new process has none of what another one has in memory.
      const loaded = join(home, `load-${loads}`)
      await mkdir(loaded)
      await cp(join(folder, 'dist'), loaded, { recursive: true })
      const require = createRequire(join(loaded, 'package.json'))
      const module = (path: string): Json => require(`./${path}.js`)
      return {
        ...module('credentials/TidemarkApi.credentials'),
        ...module('nodes/Tidemark/Tidemark.node'),
        ...module('nodes/TidemarkTrigger/TidemarkTrigger.node'),
        module,
      }
    },
    close: () => rm(home, { recursive: true, force: true }),
  }
}
