import type { Problem } from '../../model/result.ts'
import type { Config } from '../../process/config.ts'
import type { Address } from './certificate.ts'

/** How preflight checks one engine. */
export type EngineProbe = {
  readonly caSetting: keyof Config
  readonly ca: string | string[] | undefined
  /** The addresses at which it is reached by TLS. */
  readonly addresses: readonly Address[]
  /** The setting whose credentials the engine rejects; undefined when it accepts them. Rejects when it is unreachable. */
  tryCredentials(signal: AbortSignal): Promise<Problem | undefined>
}

/** The host and port of a URL. */
export function addressIn(url: string, defaultPort: number): Address {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || defaultPort }
}
