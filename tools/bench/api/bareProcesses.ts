import { choosePort } from '../../engines/ports.ts'
import { untilAnswered } from '../http.ts'
import type { HttpRequest } from '../load.ts'
import { startProgram } from '../program.ts'
import type { Stage } from '../stage.ts'

/** A bare process is the lower bound of the API's work. Resolves with its origin when it answers `requests` as expected. */
export async function startBare(
  stage: Stage,
  name: 'bareReader' | 'bareLoop' | 'bareServer',
  args: readonly string[],
  requests: readonly HttpRequest[],
): Promise<string> {
  const port = await choosePort()
  const { pid } = await startProgram(stage, name, `api/${name}Process.ts`, [String(port), ...args])
  const origin = `http://127.0.0.1:${port}`
  stage.serves(origin, pid)
  for (const request of requests) await untilAnswered(origin, request, stage)
  return origin
}
