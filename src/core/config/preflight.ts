import { once } from 'node:events'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectionOptions, connect } from 'node:tls'
import type { Problem } from '../model/schema.ts'
import type { Config, Engine } from './config.ts'

export type Address = { readonly host: string; readonly port: number }

/** PEM. `ca` defaults to Node's authorities. */
export type Tls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>

/** How a starting process checks an engine's certificates, and the settings by which the engine admits it. */
export type EngineProbe = {
  readonly engine: Engine
  readonly caSetting: keyof Config
  /** Missing for an engine to which this process sends no certificate. */
  readonly certificateSetting?: keyof Config
  readonly tls: Tls
  /** Addresses whose certificates are checked. */
  readonly addresses: readonly Address[]
  /** Resolves with the problem of a setting that the engine rejects. Rejects when the engine is unreachable. */
  tryCredentials(signal: AbortSignal): Promise<Problem | undefined>
}

/** `problem`: a setting that the engine rejects, or a certificate that this process rejects. */
export type ProbeOutcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'rejected'; readonly problem: Problem }
  | { readonly kind: 'unreachable' }

/** A service starts even if an engine hangs, and repeats the probe with `probeLater`. A command can do nothing without its engines. */
export const probeDeadlineMs = { service: 3_000, command: 10_000 }
const retryMs = 2_000

/** An engine that has not answered after `deadlineMs`, or when `stop` aborts, is `unreachable`. */
export async function probe(
  engine: EngineProbe,
  deadlineMs = probeDeadlineMs.service,
  stop?: AbortSignal,
): Promise<ProbeOutcome> {
  const deadline = AbortSignal.timeout(deadlineMs)
  const signal = stop === undefined ? deadline : AbortSignal.any([deadline, stop])
  const credentials = engine.tryCredentials(signal)
  // Until it is awaited, a rejection must not count as unhandled.
  credentials.catch(() => undefined)
  const judgementMs = Math.ceil(deadlineMs / 3)
  // An address that does not answer is no problem: `tryCredentials` rejects if none answers.
  const certificateProblems = await Promise.all(
    engine.addresses.map((address) => certificateProblem(engine, address, signal, judgementMs)),
  )
  try {
    const problem = certificateProblems.find((rejected) => rejected !== undefined) ?? (await credentials)
    return problem === undefined ? { kind: 'accepted' } : { kind: 'rejected', problem }
  } catch {
    return { kind: 'unreachable' }
  }
}

/** Rejects once `signal` aborts. */
export async function probeLater(
  engine: EngineProbe,
  signal: AbortSignal,
): Promise<Exclude<ProbeOutcome, { kind: 'unreachable' }>> {
  for (;;) {
    await sleep(retryMs, undefined, { signal })
    const outcome = await probe(engine, probeDeadlineMs.service, signal)
    if (outcome.kind !== 'unreachable') return outcome
  }
}

/** The problem if this process rejects the engine's certificate, or the engine this process's within `judgementMs`. */
async function certificateProblem(
  engine: EngineProbe,
  { host, port }: Address,
  signal: AbortSignal,
  judgementMs: number,
): Promise<Problem | undefined> {
  const socket = connect({
    host,
    port,
    // Checked below: as an error of the socket, an untrusted certificate would look like any other failure.
    rejectUnauthorized: false,
    ...(isIP(host) === 0 && { servername: host }),
    ...engine.tls,
  })
  // In TLS 1.3 the client is connected before the engine has checked its certificate. An engine that accepts it sends a session.
  const sessionReceived = once(socket, 'session', {
    signal: AbortSignal.any([signal, AbortSignal.timeout(judgementMs)]),
  })
  sessionReceived.catch(() => undefined)
  try {
    await once(socket, 'secureConnect', { signal })
    if (!socket.authorized) return authorityProblem(engine, { host, port }, socket.authorizationError)
    await sessionReceived
    return undefined
  } catch (error) {
    return clientCertificateProblem(engine, (error as Error).message)
  } finally {
    socket.on('error', () => undefined).destroy()
  }
}

function authorityProblem({ engine, caSetting }: EngineProbe, { host, port }: Address, error: unknown): Problem {
  const code = String(error instanceof Error && 'code' in error ? error.code : error)
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID'
    ? { path: engine, rule: `names ${host}:${port}, whose certificate is another host's` }
    : { path: caSetting, rule: `does not vouch for the certificate of ${host}:${port} (${code})` }
}

function clientCertificateProblem(
  { engine, tls, certificateSetting: path }: EngineProbe,
  message: string,
): Problem | undefined {
  const [, alert] = /\balert ([a-z ]*certificate[a-z ]*|unknown ca|decrypt error)\b/.exec(message) ?? []
  if (path === undefined || alert === undefined) return undefined
  const rule = tls.cert === undefined ? 'must be set: a client certificate is asked for' : `is refused: ${alert}`
  return { path, rule: `${rule}, by ${engine}` }
}

/** Rejects once `signal` aborts; never resolves. */
export async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort')
  throw signal.reason
}

/** An IPv6 address without its brackets. */
export function addressIn(url: string, defaultPort: number): Address {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || defaultPort }
}
