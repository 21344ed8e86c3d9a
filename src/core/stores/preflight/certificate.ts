import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect } from 'node:tls'

export type Address = { readonly host: string; readonly port: number }

/**
 * Why the certificate of a TLS server is not to be trusted: `host` when it is another host's; undefined when it is to be. Rejects
 * when nobody shakes hands there. `ca` undefined means the authorities that Node knows.
 */
export async function certificateProblem(
  { host, port }: Address,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly is: 'host' | 'authority'; readonly code: string } | undefined> {
  const socket = connect({
    host,
    port,
    // Judged below: an error would not tell a certificate from everything else that can go wrong.
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
