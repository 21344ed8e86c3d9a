import type { Problem } from '../../model/result.ts'
import type { Config } from '../../process/config.ts'
import type { Address } from './certificate.ts'

/** How one engine is asked whether it lets this process in. */
export type EngineProbe = {
  readonly caSetting: keyof Config
  readonly ca: string | undefined
  /** Where it speaks TLS. */
  readonly addresses: readonly Address[]
  /** What is wrong with the credentials; undefined when nothing is. Rejects when that cannot be told. */
  tryCredentials(signal: AbortSignal): Promise<Problem | undefined>
}

/** The address in a URL with a port. */
export function addressIn(url: string, defaultPort: number): Address {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || defaultPort }
}

/** Rejects with the signal's reason once it aborts. */
export const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const onAbort = (): void => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
