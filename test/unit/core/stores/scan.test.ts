import type { Client } from '@elastic/elasticsearch'
import { encodeBulk, sendBulk } from '../../../../indexer/bulk/bulkApi.ts'
import { submissionWrites } from '../../../../indexer/convertRecord.ts'
import { Generations } from '../../../../indexer/generations/generations.ts'
import { refreshEveryCopy } from '../../../../indexer/refreshEveryCopy.ts'
import type { DocumentId, TeamId } from '../../../../src/core/model/ids.ts'
import type { Instant } from '../../../../src/core/model/instant.ts'
import type { PhysicalIndex } from '../../../../src/core/stores/indices.ts'
import { nextSize, scan } from '../../../../src/core/stores/readDocuments.ts'
import { closeClients, connectSimulated } from '../../../support/elasticsearchPair.ts'
import { submissionRecord } from '../../../support/replicaRecords.ts'

const { signal } = new AbortController()
const options = { signal, requestTimeout: 30_000 }
const instant = '2026-11-20T12:00:00.000Z' as Instant

test('every document is walked once, in parts, and nothing that is written meanwhile', async () => {
  const clients = connectSimulated()
  const built = { INDEX_PREFIX: 'scanned', INDEX_SHARDS: 3 }
  const { indices } = await new Generations(clients.elasticsearch, built, options).create(1)
  const team = (at: number): TeamId => `team-${at % 7}` as TeamId
  const write = async (from: number, to: number): Promise<DocumentId[]> => {
    const documents = Array.from({ length: to - from }, (_, at) => from + at).flatMap((at) =>
      submissionWrites(submissionRecord(team(at), `s-${at}`, at + 1), instant).slice(0, 1),
    )
    await sendBulk(clients.elasticsearch, encodeBulk(indices, documents), documents, { requestTimeout: 30_000, signal })
    await refreshEveryCopy(clients.elasticsearch, Object.values(indices), options)
    return documents.map(({ id }) => id)
  }
  const ids = await write(0, 45)
  const parts: string[][] = []
  const asked = { query: { match_all: {} }, size: 15, _source: false }
  for await (const part of scan(clients.bytes, indices.submissions, asked, options)) {
    if (parts.length === 0) await write(45, 60)
    parts.push(part.map(({ id, version, source }) => `${id} ${version} ${source}`))
  }
  expect(parts.map(({ length }) => length)).toEqual([15, 15, 15])
  expect(parts.flat().sort()).toEqual(ids.map((id, at) => `${id} ${at + 1} `).sort())
  await closeClients(clients)
})

test('an answer without hits is an error, not the end', async () => {
  const answers = ['{"id":"p"}', '{"pit_id":"p","hits":{}}', '{}']
  const client = { transport: { request: async () => answers.shift() } } as unknown as Client
  const parts = scan(client, 'index' as PhysicalIndex, { query: { match_all: {} }, size: 10 }, options)
  await expect(parts.next()).rejects.toThrow('without hits')
})

test('a part grows to a megabyte, by its double at most', () => {
  expect(nextSize(10, 30_000)).toBe(20)
  expect(nextSize(200, 200 * 8_192)).toBe(128)
})

test('a part of large documents is followed by a small one', () => {
  expect(nextSize(100, 100 * 1024 * 1024)).toBe(1)
  expect(nextSize(1, 8 * 1024 * 1024)).toBe(1)
})
