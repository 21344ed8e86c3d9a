import { request } from 'node:http'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { startTestApi, type TestApi } from '../support/api.ts'
import { formEntity } from '../support/entities.ts'
import { createTestReplica, type TestReplica } from '../support/replica.ts'

let replica: TestReplica
let api: TestApi
let key: string

beforeAll(async () => {
  replica = await createTestReplica()
  await replica.completeKeyView()
  key = await replica.storeKey('team-1')
  const ids = Array.from({ length: 20 }, (_, at) => `f${at}`)
  await replica.storeForms(...ids.map((id) => ({ team: 'team-1', id, entity: formEntity({ id }) })))
  api = await startTestApi({ settings: { INDEX_PREFIX: replica.prefix, RATE_LIMIT_PER_MINUTE: '100000' } })
})
afterAll(async () => {
  await api.close()
  await replica.close()
})

const get = (
  target: string,
  acceptEncoding: string,
): Promise<{ encoding: string | undefined; vary: string; body: Buffer }> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': acceptEncoding }
    const sent = request({ port: api.port, path: target, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({
          encoding: response.headers['content-encoding'],
          vary: String(response.headers['vary']),
          body: Buffer.concat(chunks),
        }),
      )
    })
    sent.on('error', reject)
    sent.end()
  })

test.each([
  ['gzip', gunzipSync],
  ['br', brotliDecompressSync],
  ['zstd', zstdDecompressSync],
])('a page comes in %s when asked for, and is the same', async (encoding, decompress) => {
  const plain = (await api.send('/api/v1/forms', { key })).text
  const answer = await get('/api/v1/forms', encoding)
  expect([answer.encoding, decompress(answer.body).toString()]).toEqual([encoding, plain])
  expect(answer.body.length).toBeLessThan(plain.length / 4)
  expect(answer.vary).toBe('Authorization, Accept, Accept-Encoding')
})

test.each(['', 'identity', 'gzip;q=0', 'unknown'])('nothing is compressed for "%s"', async (acceptEncoding) => {
  expect((await get('/api/v1/forms', acceptEncoding)).encoding).toBeUndefined()
})

test('what is small stays as it is', async () => {
  expect((await get('/api/v1/forms/none', 'gzip')).encoding).toBeUndefined()
})
