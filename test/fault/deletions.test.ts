import { Client } from '@elastic/elasticsearch'
import { readChanges } from '../../docs/client/followChanges.ts'
import { submissionEntity } from '../support/entities.ts'
import { deleteRecords, documentTopics, withAdmin } from '../support/faults.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { usePipeline } from '../support/usePipeline.ts'

const team = 'acme'
const ids = ['kept', 'gone', 'never-there']

const pipeline = usePipeline({ forEachTest: true })
let elasticsearch: Client
beforeEach(() => {
  elasticsearch = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '' })
})
afterEach(() => elasticsearch.close())

type Told = { readonly items: readonly string[]; readonly deleted: readonly string[]; readonly watermark: string }

/** What a client is told that reads on from a watermark. */
async function readFrom(api: Program, watermark: string | undefined): Promise<Told> {
  const source = { baseUrl: `${api.url}/api/v1`, accountKey: pipeline.keyOf(team), list: 'records' } as const
  const told = { items: [] as string[], deleted: [] as string[] }
  const handlers = {
    onItem: ({ id }: { id: string }) => told.items.push(id),
    onDeleted: (id: string) => told.deleted.push(id),
  }
  const next = await readChanges(source, watermark, handlers, AbortSignal.timeout(20_000))
  return { items: told.items.sort(), deleted: told.deleted.sort(), watermark: next }
}
const stateOf = (id: string, revision: number) => ({
  key: `${team}/${id}`,
  value: JSON.stringify({ revision, submission: submissionEntity({ id }) }),
})
const untilApplied = async (api: Program): Promise<void> => {
  await pipeline.produce('forms', [{ key: `${team}/last`, value: null }])
  await pipeline.untilApplied(api, team)
}

/** Two submissions, of which one is deleted after `before`, with one that never was. */
async function withDeletions(): Promise<{ api: Program; before: string; after: string }> {
  await pipeline.startIndexer()
  await pipeline.createKeys([team])
  await pipeline.produce('submissions', [stateOf('kept', 3), stateOf('gone', 3)])
  const api = await pipeline.startApi()
  await untilApplied(api)
  const { items, watermark: before } = await readFrom(api, undefined)
  expect(items).toEqual(['gone', 'kept'])
  await pipeline.produce(
    'submissions',
    ['gone', 'never-there'].map((id) => ({ key: `${team}/${id}`, value: null })),
  )
  await untilApplied(api)
  const { deleted, watermark: after } = await readFrom(api, before)
  expect(deleted).toEqual(['gone', 'never-there'])
  expect(await readFrom(api, after)).toMatchObject({ items: [], deleted: [] })
  return { api, before, after }
}

test('a rebuild carries deletions over with their time, also what Kafka has forgotten, and late records change nothing', async () => {
  const { api, before, after } = await withDeletions()
  await withAdmin(pipeline.kafka, async (admin) => {
    for (const topic of documentTopics(pipeline)) await deleteRecords(admin, topic)
  })
  await pipeline.produce(
    'submissions',
    ids.map((id) => stateOf(id, 2)),
  )
  const rebuild = await startProgram('indexer/generations/rebuildCommand.ts', pipeline.names)
  expect([await rebuild.ended(), rebuild.log()]).toEqual([0, expect.stringContaining('generation 2 serves')])
  await untilApplied(api)
  expect(await readFrom(api, before)).toMatchObject({ deleted: ['gone', 'never-there'] })
  expect((await readFrom(api, after)).deleted).toEqual([])
  expect((await readFrom(api, undefined)).items).toEqual(['kept'])
})
