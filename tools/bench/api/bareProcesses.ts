import { choosePort } from '../../engines/ports.ts'
import { untilAnswered } from '../http.ts'
import type { HttpRequest } from '../load.ts'
import { startProgram } from '../program.ts'
import type { Stage } from '../stage.ts'
import { bareRequest } from './lists.ts'

/** Starts the least that a process between client and Elasticsearch can be, for one team; returns its origin. */
export async function startBareReader(stage: Stage, index: string, teamId: string): Promise<string> {
  const { ELASTICSEARCH_URL, REDIS_URL } = stage.urls
  return await startBare(stage, 'bareReader', [ELASTICSEARCH_URL, REDIS_URL, index, teamId], [bareRequest(1)])
}

/** Starts the least that a reader of a whole list can be, for one team; returns its origin. */
export const startBareLoop = (stage: Stage, index: string, teamId: string): Promise<string> =>
  startBare(
    stage,
    'bareLoop',
    [stage.urls.ELASTICSEARCH_URL, index, teamId],
    [{ method: 'GET', path: '/', headers: {}, expectedStatus: 200 }],
  )

/** Starts the least that a server in Node can be: it repeats what an API answers to `requests` now; returns its origin. */
export const startBareServer = (stage: Stage, apiOrigin: string, requests: readonly HttpRequest[]): Promise<string> =>
  startBare(stage, 'bareServer', [apiOrigin], requests)

/** Returns once `requests` are answered as expected. */
async function startBare(
  stage: Stage,
  name: string,
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
