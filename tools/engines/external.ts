import { type Address, accepts } from './connecting.ts'
import type { EngineName } from './engineDefinition.ts'
import { type WaitOptions, waitUntil } from './waiting.ts'

export type EngineUrls = { ELASTICSEARCH_URL: string; KAFKA_BROKERS: string; REDIS_URL: string }

export const variableOf = {
  elasticsearch: 'ELASTICSEARCH_URL',
  kafka: 'KAFKA_BROKERS',
  redis: 'REDIS_URL',
} as const satisfies Record<EngineName, keyof EngineUrls>

const defaultPorts = { elasticsearch: 9200, kafka: 9092, redis: 6379 }

/** The engines that `env` names; an empty variable names none. */
export const givenEngines = (env: NodeJS.ProcessEnv): Partial<EngineUrls> =>
  Object.fromEntries(
    Object.values(variableOf)
      .map((name) => [name, env[name]?.trim()])
      .filter(([, value]) => value !== undefined && value !== ''),
  )

/** The addresses in a comma-separated list of URLs or `host:port`. Throws when one is neither. */
export const addressesOf = (name: EngineName, value: string): Address[] =>
  value.split(',').map((part) => {
    const text = part.trim()
    const url = URL.parse(text.includes('://') ? text : `tcp://${text}`)
    if (url === null || url.hostname === '') throw new Error(`${variableOf[name]}: ${text} is no address`)
    return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: portOf(url, defaultPorts[name]) }
  })

const schemePorts: Partial<Record<string, number>> = { 'http:': 80, 'https:': 443 }

const portOf = (url: URL, fallback: number): number =>
  url.port === '' ? (schemePorts[url.protocol] ?? fallback) : Number(url.port)

/** Returns once one of the addresses takes connections, rejects when none does. Who may log in there is not asked. */
export const untilReachable = async (name: EngineName, value: string, options: WaitOptions): Promise<void> => {
  const addresses = addressesOf(name, value)
  const anyAccepts = async () =>
    (await Promise.all(addresses.map((address) => accepts(address, options.signal)))).some(Boolean)
  if (await waitUntil(anyAccepts, options)) return
  // Not the value itself: it may hold a password.
  const tried = addresses.map(({ host, port }) => `${host}:${port}`).join(', ')
  throw new Error(`${name}: nothing answers at ${tried}, which ${variableOf[name]} names`)
}
