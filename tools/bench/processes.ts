import { pino } from 'pino'
import { connectKafka } from '../../src/core/stores/kafka.ts'
import { untilTopicsExist } from '../demo/indexing.ts'
import { choosePort } from '../engines/ports.ts'
import type { Stage } from './stage.ts'

/** No request of a bench is to be refused. */
export const unlimited = '1000000000'

/** Where an API is, such as `http://127.0.0.1:3000`, and where it tells of itself. */
export type ApiOrigins = { readonly origin: string; readonly adminOrigin: string }

/** Starts indexer and API; returns once the topics exist. */
export async function startProcesses(stage: Stage): Promise<ApiOrigins> {
  const { config, signal } = stage
  const [port, adminPort] = [await choosePort(), await choosePort()]
  await Promise.all([
    stage.start('indexer', {}),
    stage.start('api', { PORT: String(port), ADMIN_PORT: String(adminPort), RATE_LIMIT_PER_MINUTE: unlimited }),
  ])
  const admin = connectKafka(config, pino({ level: 'silent' })).admin()
  stage.release(() => admin.disconnect())
  await admin.connect()
  await untilTopicsExist(admin, config, signal)
  return { origin: `http://127.0.0.1:${port}`, adminOrigin: `http://127.0.0.1:${adminPort}` }
}
