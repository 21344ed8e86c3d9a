import { readFile } from 'node:fs/promises'
import { writePrivateJson } from './privateJson.ts'

/**
 * A key for each team: the one that `path` keeps from before, as long as `isTaken` says so of it, else one that `create` makes
 * and `path` keeps from now on. A key can be shown only once, and a team has no more than ten.
 */
export async function keptKeys(
  path: string,
  teamIds: readonly string[],
  options: { isTaken: (key: string) => Promise<boolean>; create: (teamId: string) => Promise<string> },
): Promise<string[]> {
  const kept = new Map(Object.entries(await readKept(path)))
  for (const id of teamIds) {
    const known = kept.get(id)
    if (known !== undefined && (await options.isTaken(known))) continue
    kept.set(id, await options.create(id))
    await writePrivateJson(path, Object.fromEntries(kept))
  }
  return teamIds.map((id) => kept.get(id) ?? '')
}

async function readKept(path: string): Promise<Record<string, string>> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Record<string, string>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}
