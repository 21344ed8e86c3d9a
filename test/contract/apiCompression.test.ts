import type { IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { useApi } from '../support/api.ts'
import { formEntity } from '../support/entities.ts'

const ids = Array.from({ length: 20 }, (_, at) => `f${at}`)
const api = useApi({ forms: ids.map((id) => ({ team: 'team-1', id, entity: formEntity({ id }) })) })

const get = async (
  target: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }> => {
  const { received } = await api.open(target, headers)
  return { status: received.statusCode ?? 0, headers: received.headers, body: await buffer(received) }
}

test.each(['', 'identity', 'gzip;q=0', 'unknown'])(
  'an answer to Accept-Encoding "%s" is not compressed',
  async (acceptEncoding) => {
    const { headers } = await get('/api/v1/forms', { 'accept-encoding': acceptEncoding })
    expect(headers['content-encoding']).toBeUndefined()
  },
)

test.each(['/api/v1/forms', '/api/v1/forms/none', '/api/v1/openapi.json', '/docs'])(
  'a client that accepts no encoding which the API has gets %s uncompressed',
  async (path) => {
    const plain = await api.get(path)
    for (const acceptEncoding of ['identity;q=0', '*;q=0', 'unknown, *;q=0', 'gzip;q=0, identity;q=0']) {
      const { status, text, headers } = await api.get(path, { headers: { 'accept-encoding': acceptEncoding } })
      expect([status, text, headers['content-encoding']]).toEqual([plain.status, plain.text, undefined])
    }
  },
)

const oddValue = fc
  .array(
    fc.constantFrom('gzip', 'br', 'identity', '*', ';q=0', ';q=', ';q=x', ',', ' ', '"', '=', '/', 'W/', '*/*', 'json'),
    { maxLength: 8 },
  )
  .map((pieces) => pieces.join(''))

test.each(['accept', 'accept-encoding', 'accept-language', 'cookie', 'if-none-match', 'range', 'authorization'])(
  'any value of the header %s gets the requested answer or an error of the API',
  async (name) => {
    await fc.assert(
      fc.asyncProperty(oddValue, async (value) => {
        const { status, headers, body } = await get('/api/v1/forms', { [name]: value })
        expect(status).toBeLessThan(500)
        expect(headers['x-request-id']).toBeDefined()
        if (status < 400) return
        expect(JSON.parse(String(body))).toEqual({ error: { code: expect.any(String), message: expect.any(String) } })
      }),
      { numRuns: 40, endOnFailure: true },
    )
  },
)

test('a small answer is not compressed', async () => {
  const { headers } = await get('/api/v1/forms/none', { 'accept-encoding': 'gzip' })
  expect(headers['content-encoding']).toBeUndefined()
})
