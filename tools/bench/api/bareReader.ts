import { choosePort } from '../../engines/ports.ts'
import { untilAnswered } from '../http.ts'
import { startProgram } from '../program.ts'
import type { Stage } from '../stage.ts'
import { bareRequest } from './lists.ts'

/** Starts the least that a process between client and Elasticsearch can be, for one team; returns its origin. */
export async function startBareReader(stage: Stage, index: string, teamId: string): Promise<string> {
  const { ELASTICSEARCH_URL, REDIS_URL } = stage.urls
  const port = await choosePort()
  const args = [String(port), ELASTICSEARCH_URL, REDIS_URL, index, teamId]
  await startProgram(stage, { name: 'bare-reader', file: 'api/bareReaderProcess.ts', args })
  const origin = `http://127.0.0.1:${port}`
  await untilAnswered(origin, bareRequest(1), stage)
  return origin
}
