import { rm } from 'node:fs/promises'
import { type Engine, type EngineName, type Engines, type EngineUrls, startEngines } from '../../engines/engines.ts'
import { temporaryFolder } from './temporaryFolder.ts'

export const startDeadlineMs = 180_000

/** Engines that no other test misses, as processes: what a container's daemon would restart or hide cannot be tested. */
export type OwnEngines = { engine(name: EngineName): Engine; stop(): Promise<void> }

export type OwnRedis = { readonly redis: Engine; stop(): Promise<void> }

/** Starts all three and leads this process and what it starts to them. */
export async function startOwnEngines(): Promise<OwnEngines> {
  const { engines, stop } = await startIn({})
  return { engine: (name) => started(engines, name), stop }
}

/** Starts a Redis beside the Elasticsearch and the Kafka of all tests, and leads this process to it. */
export async function startOwnRedis(): Promise<OwnRedis> {
  const { ELASTICSEARCH_URL = '', KAFKA_BROKERS = '' } = process.env
  const { engines, stop } = await startIn({ ELASTICSEARCH_URL, KAFKA_BROKERS })
  return { redis: started(engines, 'redis'), stop }
}

async function startIn(given: Partial<EngineUrls>): Promise<{ engines: Engines; stop(): Promise<void> }> {
  const folder = await temporaryFolder('tidemark-fault-')
  const engines = await startEngines({
    folder,
    distributions: 'var/engines',
    clean: true,
    quick: true,
    given,
    report: () => undefined,
    signal: AbortSignal.timeout(startDeadlineMs),
  })
  Object.assign(process.env, engines.urls)
  return {
    engines,
    stop: async () => {
      await engines.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function started(engines: Engines, name: EngineName): Engine {
  const found = engines[name]
  if (found === undefined) throw new Error(`${name} was not started`)
  return found
}
