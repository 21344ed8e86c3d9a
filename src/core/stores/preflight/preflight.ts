import type { Problem } from '../../model/result.ts'
import type { Config, Engine } from '../../process/config.ts'
import { certificateProblem } from './certificate.ts'
import type { EngineProbe } from './probe.ts'

/**
 * The result of a preflight check. A problem names the setting that is wrong: the engine's certificate is not trusted, or it
 * rejects the credentials. An engine that is unreachable may come later.
 */
export type PreflightResult = 'connected' | 'unreachable' | Problem

const deadlineMs = 3_000

/** Imported on demand: a process loads the clients of the engines that it uses, and no others. */
const probeOf: Readonly<Record<Engine, () => Promise<{ probe(config: Config): EngineProbe }>>> = {
  ELASTICSEARCH_URL: () => import('./elasticsearch.ts'),
  KAFKA_BROKERS: () => import('../../kafka/preflight.ts'),
  REDIS_URL: () => import('./redis.ts'),
}

/** Connects to an engine once, for three seconds at most, to check its certificate and our credentials. */
export async function preflight(config: Config, engine: Engine, stop: AbortSignal): Promise<PreflightResult> {
  const { probe } = await probeOf[engine]()
  const { caSetting, ca, addresses, tryCredentials } = probe(config)
  const signal = AbortSignal.any([stop, AbortSignal.timeout(deadlineMs)])
  try {
    for (const address of addresses) {
      const untrusted = await certificateProblem(address, ca, signal)
      const host = `${address.host}:${address.port}`
      if (untrusted?.is === 'host') return { path: engine, rule: `names ${host}, whose certificate is another host's` }
      if (untrusted !== undefined)
        return { path: caSetting, rule: `does not vouch for the certificate of ${host} (${untrusted.code})` }
    }
    return (await tryCredentials(signal)) ?? 'connected'
  } catch {
    return 'unreachable'
  }
}
