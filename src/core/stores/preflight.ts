import { once } from 'node:events'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import type { Problem } from '../model/schema.ts'
import type { Config, Engine } from '../process/config.ts'

export type Address = { readonly host: string; readonly port: number }

/** The check of one engine when a process starts. */
export type EngineProbe = {
  readonly engine: Engine
  readonly caSetting: keyof Config
  readonly ca: string | string[] | undefined
  /** The engine's TLS addresses, whose certificates are checked. */
  readonly addresses: readonly Address[]
  /** Resolves with the setting that the engine rejects; undefined if none. Rejects when the engine is unreachable. */
  tryCredentials(signal: AbortSignal): Promise<Problem | undefined>
}

const deadlineMs = 3_000
const retryMs = 2_000

/** Checks certificate and credentials of an engine once, for three seconds at most. */
export async function probe(
  { addresses, tryCredentials, ...of }: EngineProbe,
  stop?: AbortSignal,
): Promise<{ readonly rejected: Problem } | 'accepted' | 'unreachable'> {
  const signal = AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(stop === undefined ? [] : [stop])])
  try {
    for (const address of addresses) {
      const rejected = await certificateProblem(of, address, signal)
      if (rejected !== undefined) return { rejected }
    }
    const rejected = await tryCredentials(signal)
    return rejected === undefined ? 'accepted' : { rejected }
  } catch {
    return 'unreachable'
  }
}

/** Repeats `probe` until the engine is reachable, and returns its problem. Rejects once `signal` aborts. */
export async function probeLater(engine: EngineProbe, signal: AbortSignal): Promise<Problem | undefined> {
  for (;;) {
    await sleep(retryMs, undefined, { signal })
    const outcome = await probe(engine, signal)
    if (outcome !== 'unreachable') return outcome === 'accepted' ? undefined : outcome.rejected
  }
}

/** Rejects with the signal's reason once it aborts. */
export async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort')
  throw signal.reason
}

/** The host and port of a URL. */
export function addressIn(url: string, defaultPort: number): Address {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || defaultPort }
}

/** Why a certificate is not trusted; undefined if it is. Rejects when the TLS handshake fails. `ca` defaults to Node's own. */
async function certificateProblem(
  { engine, caSetting, ca }: Pick<EngineProbe, 'engine' | 'caSetting' | 'ca'>,
  { host, port }: Address,
  signal: AbortSignal,
): Promise<Problem | undefined> {
  const socket = connect({
    host,
    port,
    // Checked below instead, because an error would not distinguish the certificate from other failures.
    rejectUnauthorized: false,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
  })
  try {
    await once(socket, 'secureConnect', { signal })
    if (socket.authorized) return undefined
    const error: unknown = socket.authorizationError
    const code = String(error instanceof Error && 'code' in error ? error.code : error)
    return code === 'ERR_TLS_CERT_ALTNAME_INVALID'
      ? { path: engine, rule: `names ${host}:${port}, whose certificate is another host's` }
      : { path: caSetting, rule: `does not vouch for the certificate of ${host}:${port} (${code})` }
  } finally {
    socket.on('error', () => undefined).destroy()
  }
}
