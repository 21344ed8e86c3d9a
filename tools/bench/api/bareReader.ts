import { fileURLToPath } from 'node:url'
import { aliasOf } from '../../../src/core/stores/indices.ts'
import type { HttpRequest } from '../load/job.ts'
import type { Stage } from '../stage.ts'
import { startServer } from './ownServer.ts'
import { largeTeam } from './submissions.ts'

/** What it is called beside the API. */
export const bareName = 'a bare process in between'

const path = fileURLToPath(new URL('./bareReaderProcess.ts', import.meta.url))

/** Starts the least that a process between client and Elasticsearch can be; see `bareReaderProcess.ts`. Returns its origin. */
export async function startBareReader(stage: Stage): Promise<string> {
  const { ELASTICSEARCH_URL, REDIS_URL } = stage.urls
  const more = [ELASTICSEARCH_URL, REDIS_URL, aliasOf(stage.config.INDEX_PREFIX, 'submissions'), largeTeam]
  const { origin } = await startServer(stage, { path, more, alivePath: bareRequest(1).path })
  return origin
}

/** Asks it for the first rows of the large team's list, and the total. */
export const bareRequest = (limit: number): HttpRequest => ({
  method: 'GET',
  path: `/?limit=${limit}`,
  headers: {},
  expectedStatus: 200,
})
