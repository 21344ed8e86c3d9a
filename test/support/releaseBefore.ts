import { execFile } from 'node:child_process'
import { readFile, symlink } from 'node:fs/promises'
import { resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** The previous release; change it when work on the next one begins. With other mappings, its indexers would wait for a rebuild. */
const commit = '5aaf4330495eb107f3fdeaf6db0656de48d32880'

/**
 * Checks the release before this one out into an empty folder, with the packages that it names. Returns the folder; undefined, and says so, where
 * the history of the repository is missing.
 */
export async function checkOutReleaseBefore(folder: string): Promise<string | undefined> {
  const archive = resolve(folder, 'release.tar')
  try {
    await run('git', ['archive', '--output', archive, commit])
  } catch (error) {
    process.stderr.write(`release ${commit}: skipped, not in this repository: ${error}\n`)
    return undefined
  }
  await run('tar', ['-x', '-f', archive, '-C', folder])
  const files = [folder, '.'].map((root) => readFile(resolve(root, 'package-lock.json'), 'utf8'))
  const [before, now] = (await Promise.all(files)).map(shippedPackages)
  if (before?.isSubsetOf(now ?? new Set())) await symlink(resolve('node_modules'), resolve(folder, 'node_modules'))
  else await run('npm', ['ci', '--omit=dev'], { cwd: folder })
  return folder
}

/** Each package of a lock file that users need, by path and version. */
function shippedPackages(lockFile: string): Set<string> {
  const { packages } = JSON.parse(lockFile) as { packages: Record<string, { version: string; dev?: true }> }
  return new Set(Object.entries(packages).flatMap(([path, { version, dev }]) => (dev ? [] : [`${path} ${version}`])))
}
