import { createHash } from 'node:crypto'
import { type ImageReference, nameOf } from './imagePins.ts'

const deadlineMs = 20_000
/** Registries must accept manifests of this size. */
const maxManifestBytes = 4 * 1024 * 1024
/** Indices of several platforms first: their digest is the same on every platform. */
const accept = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

/**
 * Uses the distribution API of `registryUrl` or of the host in the reference, with an anonymous token if the registry demands one. Rejects unless the
 * received manifest has the digest that the registry states.
 */
export async function resolveDigest(
  reference: ImageReference,
  registryUrl: string,
  stopped: AbortSignal,
): Promise<string> {
  const name = nameOf(reference)
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(deadlineMs)])
  try {
    const answer = await askForManifest(reference, registryUrl, signal)
    if (!answer.ok) throw new Error(`the registry answered ${answer.status}`)
    const digest = `sha256:${await hashOf(answer)}`
    const said = answer.headers.get('docker-content-digest') ?? digest
    if (said !== digest) throw new Error(`the registry says ${said}, but its manifest has ${digest}`)
    return digest
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { message?: string } }
    const reason = cause?.message === undefined ? message : `${message} (${cause.message})`
    throw new Error(`${name} could not be resolved: ${reason}`, { cause: error })
  }
}

async function askForManifest(
  { host, repository, tag }: ImageReference,
  registryUrl: string,
  signal: AbortSignal,
): Promise<Response> {
  // The repository of an official image of Docker is `library/<name>`.
  const path = host === undefined && !repository.includes('/') ? `library/${repository}` : repository
  const base = host === undefined ? registryUrl : `https://${host}`
  const url = new URL(`/v2/${path}/manifests/${tag}`, base)
  const answer = await fetch(url, { headers: { accept }, signal })
  if (answer.status !== 401) return answer
  await answer.body?.cancel()
  const token = await anonymousToken(answer.headers.get('www-authenticate') ?? '', signal)
  return await fetch(url, { headers: { accept, authorization: `Bearer ${token}` }, signal })
}

async function anonymousToken(challenge: string, signal: AbortSignal): Promise<string> {
  const parameters = new Map(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  )
  const realm = parameters.get('realm')
  if (!/^bearer /i.test(challenge) || realm === undefined) throw new Error('the registry demands a sign-in')
  const url = new URL(realm)
  for (const name of ['service', 'scope']) url.searchParams.set(name, parameters.get(name) ?? '')
  const answer = await fetch(url, { signal })
  if (!answer.ok) throw new Error(`the registry's token service answered ${answer.status}`)
  const { token, access_token: accessToken } = (await answer.json()) as { token?: string; access_token?: string }
  return token ?? accessToken ?? ''
}

async function hashOf({ body }: Response): Promise<string> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > maxManifestBytes) throw new Error(`the manifest has more than ${maxManifestBytes} bytes`)
    hash.update(chunk)
  }
  return hash.digest('hex')
}
