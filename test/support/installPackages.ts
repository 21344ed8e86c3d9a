import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { unpackOnce } from '../../tools/engines/unpackOnce.ts'

const deadlineMs = 10 * 60_000

/**
 * Installs the npm packages that the `package-lock.json` of a folder names, below the folder `into`, once for each lock file. They are no
 * dependencies of the project: they are large, few people need them, and some need a later Node. Returns the folder with their `node_modules`.
 */
export async function installPackages(manifests: string, into: string): Promise<string> {
  const lock = await readFile(join(manifests, 'package-lock.json'))
  const name = `packages-${createHash('sha256').update(lock).digest('hex').slice(0, 16)}`
  return await unpackOnce(resolve(into), name, async (draft) => {
    const packages = join(draft, 'packages')
    await mkdir(packages)
    for (const file of ['package.json', 'package-lock.json'])
      await copyFile(join(manifests, file), join(packages, file))
    const options = { cwd: packages, timeout: deadlineMs }
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], options)
    return packages
  })
}
