import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bulkBounds, encodeBulk } from '../../../../../indexer/bulk/bulkApi.ts'
import type { DocumentId, Revision, TeamId } from '../../../../../src/core/model/ids.ts'
import type { DocumentWrite } from '../../../../../src/core/stores/documents.ts'
import { BodyWriter, bodiesOf, ceilingIndices, recordsIn } from '../../../../../tools/bench/indexer/bodies.ts'

const documentsOf = (number: number, bytes: number): DocumentWrite[] =>
  (['submissions', 'submission-details'] as const).map((kind) => ({
    kind,
    id: `team/${number}` as DocumentId,
    teamId: 'team' as TeamId,
    version: 1 as Revision,
    source: Buffer.from(JSON.stringify({ text: 'x'.repeat(bytes) })),
  }))

test('bodies hold every document in order, both of a record together, and none is larger than an indexer’s', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bodies-'))
  try {
    const indices = await ceilingIndices()
    const writer = new BodyWriter(folder, indices)
    const records = Array.from({ length: 7 }, (_, number) => documentsOf(number, 1_000_000))
    for (const documents of records) await writer.add(documents)
    const bodies = await writer.end()
    const texts = await Promise.all(bodies.map(({ path }) => readFile(path, 'utf8')))
    expect(texts.join('')).toBe(encodeBulk(indices, records.flat()).toString())
    expect(bodies.map((body) => body.records)).toEqual([2, 2, 2, 1])
    for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(bulkBounds.maxBulkBytes)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('the first bodies are as many as hold the records', () => {
  const bodies = [3, 3, 2].map((records, at) => ({ path: `${at}`, records }))
  expect([1, 3, 4, 8].map((records) => recordsIn(bodiesOf(bodies, records)))).toEqual([3, 3, 6, 8])
  expect(() => bodiesOf(bodies, 9)).toThrow('no bodies of 9 records')
})
