import { createServer } from 'node:https'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { listenLocally } from './localServer.ts'

export const initialRules = {
  ...{ client: 'tidemark', secret: 'first secret+', lifetimeSeconds: 12 },
  ...{ audience: 'kafka', status: 200, error: 'invalid_client' },
}

/** A token endpoint of OAuth 2.0 over TLS, for one client, whose tokens are JWT. */
export async function startTokenEndpoint(tls: { readonly cert: string; readonly key: string }) {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  /** May be changed while it runs. */
  const rules = { ...initialRules }
  let issued = 0
  const tokenFor = (): Promise<string> =>
    new SignJWT({ scope: 'replica' })
      .setProtectedHeader({ alg: 'RS256', kid: 'own' })
      .setSubject(rules.client)
      .setAudience(rules.audience)
      .setIssuedAt()
      .setExpirationTime(Math.floor(Date.now() / 1_000) + rules.lifetimeSeconds)
      .sign(privateKey)
  const isRight = (authorization = ''): boolean => {
    const [client = '', secret = ''] = Buffer.from(authorization.slice('Basic '.length), 'base64').toString().split(':')
    const decoded = [client, secret].map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
    return decoded.join(':') === `${rules.client}:${rules.secret}`
  }
  const answerTo = async (authorization: string | undefined): Promise<{ status: number; body: object }> => {
    const status = rules.status === 200 && !isRight(authorization) ? 401 : rules.status
    if (status !== 200) return { status, body: { error: rules.error, error_description: `of ${authorization}` } }
    issued++
    const body = { access_token: await tokenFor(), token_type: 'Bearer', expires_in: rules.lifetimeSeconds }
    return { status, body }
  }
  const server = createServer(tls, (request, response) => {
    answerTo(request.headers.authorization).then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }, response.destroy)
  })
  const port = await listenLocally(server)
  return {
    rules,
    /** How many tokens were given. */
    issued: () => issued,
    url: `https://127.0.0.1:${port}/oauth/token`,
    /** The key by which tokens are verified. */
    jwks: JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'own', alg: 'RS256', use: 'sig' }] }),
    close: (): void => {
      server.close()
      server.closeAllConnections()
    },
  }
}
