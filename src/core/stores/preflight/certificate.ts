import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect } from 'node:tls'

export type Address = { readonly host: string; readonly port: number }

/**
 * Why the certificate of a TLS server is not trusted: `host` when it was issued for another host, `authority` for every other
 * reason; undefined when it is trusted. Rejects when the handshake fails. Without `ca`, Node's own authorities count.
 */
export async function certificateProblem(
  { host, port }: Address,
  ca: string | string[] | undefined,
  signal: AbortSignal,
): Promise<{ readonly is: 'host' | 'authority'; readonly code: string } | undefined> {
  const socket = connect({
    host,
    port,
    // Checked below: an error would not distinguish the certificate from everything else that can go wrong.
    rejectUnauthorized: false,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
  })
  try {
    await once(socket, 'secureConnect', { signal })
    if (socket.authorized) return undefined
    const error: unknown = socket.authorizationError
    const code = String(error instanceof Error && 'code' in error ? error.code : error)
    return { is: code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? 'host' : 'authority', code }
  } finally {
    socket.on('error', () => undefined).destroy()
  }
}
