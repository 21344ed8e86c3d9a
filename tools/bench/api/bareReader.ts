import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { choosePort } from '../../engines/ports.ts'
import { startSupervised } from '../../engines/supervisedProgram.ts'
import { untilAnswered } from '../http.ts'
import type { Stage } from '../stage.ts'
import { bareRequest } from './lists.ts'

const path = fileURLToPath(new URL('./bareReaderProcess.ts', import.meta.url))

/** Starts the least that a process between client and Elasticsearch can be, for one team; returns its origin. */
export async function startBareReader(stage: Stage, index: string, teamId: string): Promise<string> {
  const { ELASTICSEARCH_URL, REDIS_URL } = stage.urls
  const port = await choosePort()
  const args = [path, String(port), ELASTICSEARCH_URL, REDIS_URL, index, teamId]
  const program = await startSupervised(
    { command: process.execPath, args, cwd: stage.folder, env: {} },
    { logPath: join(stage.logsFolder, 'bare-reader.log') },
    stage.signal,
  )
  stage.release(() => program.stop())
  const origin = `http://127.0.0.1:${port}`
  await untilAnswered(origin, bareRequest(1), stage)
  return origin
}
