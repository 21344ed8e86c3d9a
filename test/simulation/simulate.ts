import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const program = new URL('../../bin/tidemark.ts', import.meta.url).pathname
export const simulationTimeoutMs = 900_000

/** Runs `npm run simulate` to its end, at low priority, because histories do not depend on real time. */
export async function simulate(...options: string[]): Promise<{ readonly code: number; readonly stdout: string }> {
  try {
    const ran = promisify(execFile)('nice', [process.execPath, program, 'simulate', ...options], {
      timeout: simulationTimeoutMs,
    })
    return { code: 0, stdout: (await ran).stdout }
  } catch (error) {
    const { code, stdout } = error as { readonly code: number; readonly stdout: string }
    return { code, stdout }
  }
}
