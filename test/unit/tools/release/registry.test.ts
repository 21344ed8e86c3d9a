import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { parseReference } from '../../../../tools/release/imagePins.ts'
import { resolveDigest } from '../../../../tools/release/registry.ts'
import { startLocalServer } from '../../../support/localServer.ts'

type Answer = { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: string }

const manifest = JSON.stringify({ schemaVersion: 2, manifests: [] })
const digest = `sha256:${createHash('sha256').update(manifest).digest('hex')}`
const kafka = parseReference('apache/kafka:4.3.1')
const never = new AbortController().signal

let asked: IncomingMessage[] = []
let answerTo: (request: IncomingMessage) => Answer = () => ({ status: 200, body: manifest })

const { url, close } = await startLocalServer((request, response) => {
  asked.push(request)
  const { status, headers, body } = answerTo(request)
  response.writeHead(status, headers).end(body)
})
beforeEach(() => {
  asked = []
  answerTo = () => ({ status: 200, body: manifest })
})
afterAll(close)

test.each([
  ['apache/kafka:4.3.1', '/v2/apache/kafka/manifests/4.3.1'],
  ['node:24-bookworm-slim', '/v2/library/node/manifests/24-bookworm-slim'],
])('the digest of %s is that of the multi-platform manifest %s', async (name, path) => {
  expect(await resolveDigest(parseReference(name), url, never)).toBe(digest)
  expect(asked.map((request) => request.url)).toEqual([path])
  expect(asked[0]?.headers.accept).toMatch(/^application\/vnd\.oci\.image\.index\.v1\+json, /)
})

test('a registry that demands a token gets an anonymous one', async () => {
  answerTo = ({ url: path = '', headers }) => {
    if (path.startsWith('/token')) return { status: 200, body: '{"token":"t-1"}' }
    if (headers.authorization === 'Bearer t-1') return { status: 200, body: manifest }
    const challenge = `Bearer realm="${url}/token",service="registry.test",scope="repository:apache/kafka:pull"`
    return { status: 401, headers: { 'www-authenticate': challenge }, body: '{}' }
  }
  expect(await resolveDigest(kafka, url, never)).toBe(digest)
  expect(asked[1]?.url).toBe('/token?service=registry.test&scope=repository%3Aapache%2Fkafka%3Apull')
})

test("a manifest whose digest differs from the registry's is an error that names the image", async () => {
  answerTo = () => ({ status: 200, headers: { 'docker-content-digest': `sha256:${'0'.repeat(64)}` }, body: manifest })
  const resolved = resolveDigest(kafka, url, never)
  await expect(resolved).rejects.toThrow(/^apache\/kafka:4\.3\.1 could not be resolved: .*but its manifest has sha256:/)
})
