import type { Client } from '@elastic/elasticsearch'
import type { PhysicalIndex } from '../../../../src/core/elasticsearch/indices.ts'
import { nextSize, scan } from '../../../../src/core/elasticsearch/readDocuments.ts'

const options = { signal: new AbortController().signal, requestTimeout: 30_000 }

test('an answer without hits is an error, not the end', async () => {
  const answers = ['{"id":"p"}', '{"pit_id":"p","hits":{}}', '{}']
  const transport = { request: async () => Buffer.from(answers.shift() ?? '') }
  const client = { transport, connectionPool: { size: 1 } } as unknown as Client
  const parts = scan(client, 'index' as PhysicalIndex, { query: { match_all: {} }, size: 10 }, options)
  await expect(parts.next()).rejects.toThrow('without hits')
})

test('a part at most doubles up to a megabyte, and a part of large documents is followed by a small one', () => {
  expect(nextSize(10, 30_000)).toBe(20)
  expect(nextSize(200, 200 * 8_192)).toBe(128)
  expect(nextSize(100, 100 * 1024 * 1024)).toBe(1)
  expect(nextSize(1, 8 * 1024 * 1024)).toBe(1)
})
