import { once } from 'node:events'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectionOptions, connect } from 'node:tls'
import type { Problem } from '../model/schema.ts'
import type { Config, Engine } from './config.ts'

export type Address = { readonly host: string; readonly port: number }

/** Certificates and a key in PEM. `ca` defaults to Node's own. */
export type Tls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>

/** The check of one engine when a process starts. */
export type EngineProbe = {
  readonly engine: Engine
  readonly caSetting: keyof Config
  /** The setting of a client certificate, for an engine that may have one. */
  readonly certificateSetting?: keyof Config
  readonly tls: Tls
  /** The engine's TLS addresses, whose certificates are checked. */
  readonly addresses: readonly Address[]
  /** Resolves with the setting that the engine rejects; undefined if none. Rejects when the engine is unreachable. */
  tryCredentials(signal: AbortSignal): Promise<Problem | undefined>
}

/** A service is to start soon, also beside an engine that hangs: `probeLater` asks again. A command is of no use without its engines. */
export const probeDeadlineMs = { service: 3_000, command: 10_000 }
const retryMs = 2_000

/** Checks certificate and credentials of an engine once, for `deadlineMs` at most. Resolves with the setting that it rejects, if any. */
export async function probe(
  { addresses, tryCredentials, ...of }: EngineProbe,
  deadlineMs = probeDeadlineMs.service,
  stop?: AbortSignal,
): Promise<Problem | 'unreachable' | undefined> {
  const signal = AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(stop === undefined ? [] : [stop])])
  const credentials = tryCredentials(signal)
  credentials.catch(() => undefined)
  // Of several addresses, one may be unreachable: whether the engine is, `tryCredentials` finds out.
  const judgementMs = Math.ceil(deadlineMs / 3)
  const certificates = await Promise.all(addresses.map((each) => certificateProblem(of, each, signal, judgementMs)))
  try {
    return certificates.find((problem) => problem !== undefined) ?? (await credentials)
  } catch {
    return 'unreachable'
  }
}

type Of = Omit<EngineProbe, 'addresses' | 'tryCredentials'>

/** The problem with the certificate of this process, which an engine tells in an alert of TLS. */
function clientCertificateProblem({ engine, tls, certificateSetting: path }: Of, message: string): Problem | undefined {
  const [, alert] = /\balert ([a-z ]*certificate[a-z ]*|unknown ca|decrypt error)\b/.exec(message) ?? []
  if (path === undefined || alert === undefined) return undefined
  const rule = tls.cert === undefined ? 'must be set: a client certificate is asked for' : `is refused: ${alert}`
  return { path, rule: `${rule}, by ${engine}` }
}

/** Repeats `probe` until the engine is reachable, and returns its problem. Rejects once `signal` aborts. */
export async function probeLater(engine: EngineProbe, signal: AbortSignal): Promise<Problem | undefined> {
  for (;;) {
    await sleep(retryMs, undefined, { signal })
    const outcome = await probe(engine, probeDeadlineMs.service, signal)
    if (outcome !== 'unreachable') return outcome
  }
}

/** Rejects with the signal's reason once it aborts. */
export async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort')
  throw signal.reason
}

export function addressIn(url: string, defaultPort: number): Address {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || defaultPort }
}

/** Why a certificate is not trusted, by this process or the engine; undefined if it is, or nobody answers. */
async function certificateProblem(of: Of, { host, port }: Address, signal: AbortSignal, judgementMs: number) {
  const socket = connect({
    host,
    port,
    // Checked below instead, because an error would not distinguish the certificate from other failures.
    rejectUnauthorized: false,
    ...(isIP(host) === 0 && { servername: host }),
    ...of.tls,
  })
  // By TLS 1.3 an engine judges the certificate of this process once it is connected, and then offers a session.
  const judged = once(socket, 'session', { signal: AbortSignal.any([signal, AbortSignal.timeout(judgementMs)]) })
  judged.catch(() => undefined)
  try {
    await once(socket, 'secureConnect', { signal })
    if (socket.authorized) return void (await judged)
    const error: unknown = socket.authorizationError
    const code = String(error instanceof Error && 'code' in error ? error.code : error)
    return code === 'ERR_TLS_CERT_ALTNAME_INVALID'
      ? { path: of.engine, rule: `names ${host}:${port}, whose certificate is another host's` }
      : { path: of.caSetting, rule: `does not vouch for the certificate of ${host}:${port} (${code})` }
  } catch (error) {
    return clientCertificateProblem(of, (error as Error).message)
  } finally {
    socket.on('error', () => undefined).destroy()
  }
}
