import { useApi } from '../support/api.ts'
import { useStarted } from '../support/lifecycle.ts'

const descriptionPath = '/api/v1/openapi.json'

const api = useApi({ settings: { RATE_LIMIT_PER_MINUTE: '3' } })
const assets = useStarted('the page', async () => {
  const html = await (await read('/docs')).text()
  return [...html.matchAll(/(?:src|href)="\.(\/docs\/[^"]+)"/g)].map(([, path]) => path ?? '')
})

const read = (path: string, request: RequestInit = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${api.port}${path}`, request)

const readIf = (path: string, condition: string): Promise<Response> =>
  read(path, { headers: { 'if-none-match': condition } })

test('the page and its files have the right Content-Type and Cache-Control', async () => {
  const told = await Promise.all(
    ['/docs', descriptionPath, ...assets].map(async (path) => {
      const { status, headers } = await read(path)
      return [status, headers.get('content-type'), headers.get('cache-control'), headers.get('x-content-type-options')]
    }),
  )
  const forEver = 'public, max-age=31536000, immutable'
  expect(told).toEqual([
    [200, 'text/html; charset=utf-8', 'public, no-cache', 'nosniff'],
    [200, 'application/json; charset=utf-8', 'public, max-age=300', 'nosniff'],
    [200, 'image/svg+xml', forEver, 'nosniff'],
    [200, 'text/css; charset=utf-8', forEver, 'nosniff'],
    [200, expect.stringMatching(/javascript; charset=utf-8$/), forEver, 'nosniff'],
  ])
})

test('the page may load nothing from other origins, and no page may frame it', async () => {
  const policy = (await read('/docs')).headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toMatch(/unsafe|https?:|\*/)
})

test('HEAD answers as GET without a body, and an unchanged file is answered 304', async () => {
  for (const path of ['/docs', '/docs/', descriptionPath, ...assets]) {
    const etag = (await read(path)).headers.get('etag') ?? ''
    const head = await read(path, { method: 'HEAD' })
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, ''])
    const again = await readIf(path, `"other", ${etag}`)
    expect(again.status).toBe(304)
    expect(await again.text()).toBe('')
    expect((await readIf(path, '"other"')).status).toBe(200)
  }
})

test('the description and the files come compressed to clients that accept gzip', async () => {
  const readIn = (path: string, accepted: string) => read(path, { headers: { 'accept-encoding': accepted } })
  for (const path of [descriptionPath, ...assets]) {
    const [plain, compressed] = [await readIn(path, 'identity'), await readIn(path, 'gzip')]
    expect(compressed.headers.get('vary')).toBe('Accept-Encoding')
    expect(await compressed.text()).toBe(await plain.text())
    // No file is stored in another coding.
    for (const accepted of ['identity', 'gzip', 'br', 'zstd', 'deflate', 'br, zstd, deflate, gzip']) {
      const { headers } = await readIn(path, accepted)
      expect([accepted, headers.get('content-encoding')]).toEqual([accepted, /gzip/.test(accepted) ? 'gzip' : null])
    }
  }
})

test.each(['POST', 'PUT', 'DELETE'])('%s gives 405 without a key', async (method) => {
  for (const path of ['/docs', descriptionPath]) {
    const { status, headers } = await api.send(path, { method })
    expect(status).toBe(405)
    expect(headers['allow']).toBe('GET, HEAD, OPTIONS')
    expect(headers['cache-control']).toBe('private, no-cache')
  }
})

test('a request for the page counts against the limit of no key, even if it has one', async () => {
  for (const path of [descriptionPath, descriptionPath, descriptionPath, descriptionPath]) {
    const { status, headers } = await api.get(path)
    expect(status).toBe(200)
    expect(headers['ratelimit']).toBeUndefined()
  }
  expect((await api.get('/api/v1/forms')).headers['ratelimit']).toContain('r=2;')
})

test.each([
  ...['/docs/other', '/docs/swagger-ui.css', '/Docs', '/api/v1/openapi.yaml', '/api/v1/openapi.json/x'],
  ...['/docs/../package.json', '/docs/%2e%2e/package.json', '/docs/..%2f..%2fpackage.json'],
])('%s is 404, like any unknown route', async (path) => {
  expect((await api.send(path)).status).toBe(401)
})

test('the description names the URL at which clients reach the API', async () => {
  const named = await api.startAnother({ BASE_URL: 'https://quiz.example/api/v1' })
  const { json } = await named.send(descriptionPath)
  expect(json).toMatchObject({ servers: [{ url: 'https://quiz.example/api/v1' }] })
  expect((await api.send(descriptionPath)).json).toMatchObject({ servers: [{ url: '/api/v1' }] })
})
