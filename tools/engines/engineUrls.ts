import { rename, writeFile } from 'node:fs/promises'
import type { EngineName } from './engine.ts'
import { type Address, acceptsConnections } from './ports.ts'
import { type WaitOptions, waitUntil } from './waiting.ts'

export type EngineUrls = { ELASTICSEARCH_URL: string; KAFKA_BROKERS: string; REDIS_URL: string }
/** Comma-separated if an engine has several nodes. After a failover, Sentinels report another master than `REDIS_URL`. */
export type ClusterUrls = EngineUrls & { REDIS_SENTINELS: string; REDIS_SENTINEL_NAME: string }

export const variableOf = {
  elasticsearch: 'ELASTICSEARCH_URL',
  kafka: 'KAFKA_BROKERS',
  redis: 'REDIS_URL',
} as const satisfies Record<EngineName, keyof EngineUrls>

export const defaultPorts = { elasticsearch: 9200, kafka: 9092, redis: 6379 }
const schemePorts: Partial<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** An empty variable names no engine. */
export const externalEngines = (env: NodeJS.ProcessEnv): Partial<EngineUrls> =>
  Object.fromEntries(
    Object.values(variableOf)
      .map((name) => [name, env[name]?.trim()])
      .filter(([, value]) => value !== undefined && value !== ''),
  )

/** Parses a comma-separated list of URLs or `host:port`. Throws if one is neither. */
export const addressesOf = (name: EngineName, value: string): Address[] =>
  value.split(',').map((part) => {
    const text = part.trim()
    const url = URL.parse(text.includes('://') ? text : `tcp://${text}`)
    if (url === null || url.hostname === '') throw new Error(`${variableOf[name]}: ${text} is no address`)
    const port = url.port === '' ? (schemePorts[url.protocol] ?? defaultPorts[name]) : Number(url.port)
    return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port }
  })

/** Resolves when one address accepts a connection, without a login. Rejects if none does. */
export const untilReachable = async (name: EngineName, value: string, options: WaitOptions): Promise<void> => {
  const addresses = addressesOf(name, value)
  const anyAccepts = async () =>
    (await Promise.all(addresses.map((address) => acceptsConnections(address, options.signal)))).some(Boolean)
  if (await waitUntil(anyAccepts, options)) return
  // Host and port only: the value may have a password.
  const tried = addresses.map(({ host, port }) => `${host}:${port}`).join(', ')
  throw new Error(`${name}: nothing answers at ${tried} (${variableOf[name]})`)
}

/** Replaces the file atomically. Only its owner may read it: the URL of an external engine may have a password. */
export const writeEnginesFile = async (path: string, urls: EngineUrls): Promise<void> => {
  const draft = `${path}.${process.pid}`
  const lines = Object.entries(urls).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(draft, lines.join(''), { mode: 0o600 })
  await rename(draft, path)
}
