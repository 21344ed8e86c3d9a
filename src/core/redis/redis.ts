import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis, type RedisOptions, ReplyError } from 'ioredis'
import { type Config, latest } from '../config/config.ts'
import { aborted, addressIn, type EngineProbe } from '../config/preflight.ts'
import type { Problem } from '../model/schema.ts'
import { printable } from '../monitoring/log.ts'
import { type RedisKeys, redisKeys } from './redisKeys.ts'

export interface RedisConnection {
  readonly client: Redis
  readonly keys: RedisKeys
  /** Identifies the server and its start; undefined while disconnected, and until the server has reported it. Once it changes, Redis may have lost writes. */
  readonly runId: () => string | undefined
  readonly close: () => Promise<void>
}

export type OnCommand = (name: string, durationMs: number, error: Error | undefined) => void

export const connectTimeoutMs = 5_000
export const commandTimeoutMs = 2_000
const maxReconnectDelayMs = 2_000

export const reconnectDelayMs = (attempt: number): number => Math.min(50 * 2 ** attempt, maxReconnectDelayMs)

const firstConnectionDeadlineMs = 10_000
const connectionPollMs = 50
const sentinelReconnectMs = 1_000
const runIdRetryMs = 500
/**
 * A promoted master without a replica changes its replication id, a part of `runId`, after an hour. With the former id, the account keys would seem incomplete
 * for ever.
 */
const runIdPollMs = 5_000

/**
 * The client reconnects for ever. While Redis is unreachable, a command fails at once; without a reply, after two seconds. With Sentinels, the client connects
 * to the new master once a Sentinel reports the failover, even if the old one still answers.
 */
export function connectRedis(
  config: Pick<Config, 'INDEX_PREFIX'> & Partial<Config>,
  onError: (error: Error) => void,
  onCommand: OnCommand = () => undefined,
): RedisConnection {
  const { REDIS_URL: url = 'redis://', REDIS_SENTINELS, REDIS_SENTINEL_NAME: name } = config
  const client = new Redis(url, {
    ...credentialsOf(config),
    ...(name !== undefined && {
      name,
      sentinels: REDIS_SENTINELS ?? [],
      failoverDetector: true,
      // By default, it would reconnect to restarted Sentinels after up to a minute, and miss failovers until then.
      sentinelReconnectStrategy: () => sentinelReconnectMs,
      enableTLSForSentinelMode: url.startsWith('rediss:'),
    }),
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableAutoPipelining: true,
    // Tidemark's Redis users may not call CLIENT SETINFO, which would count as a failed command.
    disableClientInfo: true,
    retryStrategy: (attempt) => {
      // The client reads its options at each attempt. Files of secrets may have changed.
      if (config.files !== undefined) Object.assign(client.options, credentialsOf(latest(config)))
      return reconnectDelayMs(attempt)
    },
  })
  watchCommands(client, onCommand)
  client.on('error', (error: Error) => {
    // If SELECT fails, the client would use database 0, which may belong to another installation.
    if (refusesDatabase(error)) client.disconnect(true)
  })
  return connectionOver(client, config.INDEX_PREFIX, onError)
}

/** They may change while a process runs. Without a certificate, `tls` is left out: even an empty one turns TLS on. */
function credentialsOf(config: Partial<Config>): Pick<RedisOptions, 'tls' | 'username' | 'password'> {
  const { REDIS_CA_FILE: ca, REDIS_CERT_FILE: cert, REDIS_KEY_FILE: key } = config
  const { username = '', password = '' } = URL.parse(config.REDIS_URL ?? '') ?? {}
  return {
    ...((ca ?? cert) !== undefined && { tls: { ca, cert, key } }),
    ...(password !== '' && { username: decodeURIComponent(username), password: decodeURIComponent(password) }),
  }
}

/** Redis has no such database, or the user no permission. */
export const refusesDatabase = (error: Error): boolean =>
  error instanceof ReplyError && (error as { command?: { name?: string } }).command?.name === 'select'

/** Reads the server's `runId` after each connect, then every few seconds. */
export function connectionOver(client: Redis, prefix: string, onError: (error: Error) => void): RedisConnection {
  let runId: string | undefined
  /** Stands for one connect, so that replies to an earlier connection are ignored. */
  let currentConnection: object | undefined
  client.on('error', onError)
  client.on('close', () => {
    runId = undefined
    currentConnection = undefined
  })
  const readRunId = (connection: object): void => {
    if (connection !== currentConnection) return
    client.info().then(
      (info) => {
        if (connection !== currentConnection) return
        runId = runIn(info)
        setTimeout(readRunId, runIdPollMs, connection).unref()
      },
      (error: Error) => {
        onError(error)
        // Redis may hang without closing the connection.
        setTimeout(readRunId, runIdRetryMs, connection).unref()
      },
    )
  }
  client.on('ready', () => {
    currentConnection = {}
    readRunId(currentConnection)
  })
  return {
    client,
    keys: redisKeys(prefix),
    runId: () => runId,
    close: async () => client.disconnect(),
  }
}

/**
 * The id of a server's run: the `run_id` in a reply to INFO, followed by the replication id if the server is a promoted master. Why both: replica B is promoted
 * without the last writes of master A. A becomes a replica of B, drops these writes, and is promoted again. A still has its `run_id`, but a new replication id.
 */
export function runIn(info: string): string | undefined {
  const wasPromoted = /[^0]/.test(fieldIn(info, 'master_replid2') ?? '')
  const runId = fieldIn(info, 'run_id')
  return wasPromoted ? `${runId}-${fieldIn(info, 'master_replid')}` : runId
}

const fieldIn = (info: string, name: string): string | undefined => new RegExp(`^${name}:(\\w+)`, 'm').exec(info)?.[1]

/** Sees every command, also in pipelines and while disconnected. */
function watchCommands(client: Redis, onCommand: OnCommand): void {
  const send = client.sendCommand.bind(client)
  client.sendCommand = (command, stream) => {
    const startedMs = performance.now()
    const report = (error?: Error): void => onCommand(command.name.toLowerCase(), performance.now() - startedMs, error)
    command.promise.then(() => report(), report)
    return send(command, stream)
  }
}

/** Resolves once `runId` is known. */
export async function untilConnected({ runId }: Pick<RedisConnection, 'runId'>, signal?: AbortSignal): Promise<void> {
  const givesUpAtMs = performance.now() + firstConnectionDeadlineMs
  while (runId() === undefined) {
    if (performance.now() > givesUpAtMs) throw new Error('Redis does not answer')
    await sleep(connectionPollMs, undefined, signal && { signal })
  }
}

/**
 * Makes a function that runs a Lua script. `names` become KEYS, `values` ARGV. Redis requires write permission for KEYS, so a name that a script only reads is
 * in `values`.
 */
export function script(lua: string) {
  const sha = hash('sha1', lua)
  return async ({ client }: RedisConnection, names: readonly string[], values: readonly (string | number)[]) => {
    try {
      return await client.evalsha(sha, names.length, ...names, ...values)
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return await client.eval(lua, names.length, ...names, ...values)
    }
  }
}

/** Without `cause`: the client's error contains the command's arguments, such as digests of keys, which must not be logged. */
export class RedisUnavailable extends Error {
  override readonly name = 'RedisUnavailable'

  constructor(error: Error) {
    super(`Redis is unavailable: ${error.message}`)
  }
}

type ErrorClass = abstract new (...parameters: never[]) => Error

/** Errors of the classes `passedOn` pass unchanged. */
export async function fromRedis<T>(answer: Promise<T>, ...passedOn: readonly ErrorClass[]): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (passedOn.some((errorClass) => error instanceof errorClass)) throw error
    throw new RedisUnavailable(error as Error)
  }
}

/** `limitBytes`: `maxmemory`; undefined without a limit. */
export type RedisMemory = { readonly usedBytes: number; readonly limitBytes: number | undefined }

export async function readRedisMemory({ client }: RedisConnection): Promise<RedisMemory> {
  const info = await client.info('memory')
  const bytesIn = (name: string): number => Number(fieldIn(info, name) ?? 0)
  return { usedBytes: bytesIn('used_memory'), limitBytes: bytesIn('maxmemory') || undefined }
}

const defaultPort = 6_379

/** How a starting process checks the settings of Redis. */
export const redisProbe = (config: Config): EngineProbe => ({
  engine: 'REDIS_URL',
  caSetting: 'REDIS_CA_FILE',
  certificateSetting: 'REDIS_CERT_FILE',
  tls: credentialsOf(config).tls ?? {},
  // With Sentinels, the address of Redis is not configured.
  addresses:
    config.REDIS_URL?.startsWith('rediss:') && config.REDIS_SENTINELS.length === 0
      ? [addressIn(config.REDIS_URL, defaultPort)]
      : [],
  tryCredentials: async (signal) => {
    const answer = Promise.withResolvers<Problem | undefined>()
    const redis = connectRedis(config, (error) => {
      const rule = refusalOf(error)
      if (rule === undefined) answer.reject(new Error(error.message))
      else answer.resolve({ path: 'REDIS_URL', rule })
    })
    redis.client.once('ready', () => answer.resolve(clusterProblem(redis)))
    try {
      return await Promise.race([answer.promise, aborted(signal)])
    } finally {
      await redis.close()
    }
  },
})

async function clusterProblem({ client }: RedisConnection): Promise<Problem | undefined> {
  const isCluster = /^redis_mode:cluster/m.test(await client.info('server'))
  const rule = 'names a Redis Cluster, which refuses scripts over keys of several slots: one without slots is needed'
  return isCluster ? { path: 'REDIS_URL', rule } : undefined
}

/** Undefined if `error` shows no wrong setting. */
function refusalOf(error: Error): string | undefined {
  if (error.message.startsWith('WRONGPASS')) return 'names a user or a password that Redis refuses'
  if (error.message.startsWith('NOAUTH')) return 'must name a user and a password: Redis asks who connects'
  return refusesDatabase(error) ? `names a database that Redis refuses: ${printable(error.message)}` : undefined
}
