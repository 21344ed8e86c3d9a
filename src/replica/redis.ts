import { Redis } from 'ioredis'

/** A connection that knows which run of the Redis server it talks to. */
export type RedisLink = {
  readonly client: Redis
  /** The server's `run_id`, or undefined while not connected: a restarted Redis may have lost its last second. */
  runId(): string | undefined
  close(): Promise<void>
}

const connectTimeoutMs = 5_000
const commandTimeoutMs = 2_000
const maxReconnectDelayMs = 2_000

/**
 * Connects to Redis and keeps reconnecting. A command fails at once while Redis is away, and after two seconds without an
 * answer; nothing queues up. `onError` hears of connection faults, which are otherwise survived in silence.
 */
export function connectRedis(url: string, onError: (error: Error) => void): RedisLink {
  const client = new Redis(url, {
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableAutoPipelining: true,
    retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, maxReconnectDelayMs),
  })
  let runId: string | undefined
  client.on('error', onError)
  client.on('close', () => {
    runId = undefined
  })
  client.on('ready', () => {
    client.info('server').then((info) => {
      runId = /^run_id:(\w+)/m.exec(info)?.[1]
    }, onError)
  })
  return {
    client,
    runId: () => runId,
    close: async () => {
      client.disconnect()
    },
  }
}
