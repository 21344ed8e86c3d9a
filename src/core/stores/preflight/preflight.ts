import type { Problem } from '../../model/result.ts'
import type { Config, Engine } from '../../process/config.ts'
import { certificateProblem } from './certificate.ts'
import type { EngineProbe } from './probe.ts'

/** How an engine takes this process: lets it in, is away just now, or will not let it in before a setting is mended. */
export type Link = 'open' | 'away' | Problem

const deadlineMs = 3_000

/** A process loads the clients of the engines that it uses, and no others. */
const probeOf: Readonly<Record<Engine, () => Promise<{ door(config: Config): EngineProbe }>>> = {
  ELASTICSEARCH_URL: () => import('./elasticsearch.ts'),
  KAFKA_BROKERS: () => import('./kafka.ts'),
  REDIS_URL: () => import('./redis.ts'),
}

/** Asks an engine once whether its certificate is to be trusted and its credentials are right; three seconds at most. */
export async function preflight(config: Config, engine: Engine, stop: AbortSignal): Promise<Link> {
  const { door } = await probeOf[engine]()
  const { caSetting, ca, addresses, tryCredentials } = door(config)
  const signal = AbortSignal.any([stop, AbortSignal.timeout(deadlineMs)])
  try {
    for (const address of addresses) {
      const distrust = await certificateProblem(address, ca, signal)
      const place = `${address.host}:${address.port}`
      if (distrust?.is === 'host') return { path: engine, rule: `names ${place}, whose certificate is another host's` }
      if (distrust !== undefined)
        return { path: caSetting, rule: `does not vouch for the certificate of ${place} (${distrust.code})` }
    }
    return (await tryCredentials(signal)) ?? 'open'
  } catch {
    return 'away'
  }
}
