import { portOf, serve, stopServing } from '../core/process/httpServer.ts'
import { type Started, serviceCommand } from '../core/process/lifecycle.ts'
import { type Opening, openKafka, openStores } from '../core/stores/openStores.ts'
import { accountKeysAreComplete, kafkaAnswers, redisAnswers } from '../core/stores/readinessChecks.ts'
import { AccountKeyManager } from './accountKeyManager.ts'
import { answerClientError, createSettingsApp } from './settingsApp.ts'

/** Unless `PORT` names another one. */
export const defaultPort = 3_001

/**
 * Builds the settings area with its live clients and listens on the configured port, also while an engine is unreachable.
 * Everything it opens is registered with `release`, which releases in reverse order.
 */
export async function startSettings(
  service: Opening,
  nowMs: () => number = Date.now,
): Promise<Started & { readonly port: number }> {
  const { config, log, release } = service
  const { redis, accountKeys: store } = openStores(service)
  const { openSource, sink } = openKafka(service)
  const source = openSource()

  const keys = new AccountKeyManager({ store, sink, topics: config, log, nowMs })
  const server = await serve(
    (request, response) => app(request, response),
    { port: config.PORT ?? defaultPort, host: config.HOST },
    answerClientError(log),
  )
  release('server', () => stopServing(server, config.DRAIN_MS))
  const port = portOf(server)
  // The origin needs the port, which the system may have chosen only now.
  const origin = config.SETTINGS_URL ?? `http://127.0.0.1:${port}`
  const app = createSettingsApp(service, origin, keys, redis, nowMs)
  log.info({ port }, 'listening')

  return {
    port,
    checks: {
      kafka: kafkaAnswers(source),
      redis: redisAnswers(redis),
      'account keys': accountKeysAreComplete(store),
    },
  }
}

export const command = serviceCommand({
  name: 'settings',
  needs: ['KAFKA_BROKERS', 'REDIS_URL', 'sign-in'],
  port: defaultPort,
  adminPort: 9_103,
  start: startSettings,
})
