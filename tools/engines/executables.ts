import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

/** Whether this process may run the file. */
export const executable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  )

/** The first file of that name in PATH that may be run. */
export const findOnPath = async (name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> => {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    if (folder !== '' && (await executable(join(folder, name)))) return join(folder, name)
  }
  return undefined
}
