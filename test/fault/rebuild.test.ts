import { Client } from '@elastic/elasticsearch'
import { expectFold } from '../support/expectFold.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { killPrograms, type Program, startProgram } from '../support/programs.ts'
import { randomWorld } from '../support/randomWorld.ts'

let pipeline: Pipeline
let elasticsearch: Client
beforeEach(async () => {
  pipeline = await openPipeline()
  elasticsearch = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '' })
})
afterEach(async () => {
  killPrograms()
  const indices = Object.keys(await elasticsearch.indices.get({ index: `${pipeline.names['INDEX_PREFIX']}-*` }))
  if (indices.length > 0) await elasticsearch.indices.delete({ index: indices })
  await elasticsearch.close()
  await pipeline.close()
})

const startRebuild = (): Promise<Program> => startProgram('indexer/rebuildCommand.ts', pipeline.names)
const generations = async (): Promise<string[]> => {
  const prefix = `${pipeline.names['INDEX_PREFIX']}-`
  const indices = await elasticsearch.indices.get({ index: `${prefix}*` })
  return Object.keys(indices)
    .map((name) => name.slice(prefix.length))
    .sort()
}

test('every index is built anew beside the live ones', async () => {
  const world = randomWorld(21, 2_000)
  const indexer = await pipeline.startIndexer()
  await pipeline.createKeys(world.teams)
  await pipeline.produceWorld(world.records)
  const api = await pipeline.startApi()
  await pipeline.untilApplied(api, 'acme')
  const rebuild = await startRebuild()
  expect([await rebuild.ended(), rebuild.log()]).toEqual([0, expect.stringContaining('generation 2 serves')])
  console.log(rebuild.log())
  await pipeline.createKeys(['acme'])
  await pipeline.untilApplied(api, 'acme')
  await expectFold(pipeline, api, world)
  expect(await generations()).toEqual(['form-details-v1-2', 'forms-v1-2', 'submission-details-v1-2', 'submissions-v1-2'])
  expect(await indexer.metric('tidemark_dead_letters_total')).toBe(world.records.filter((each) => each.isPoison).length)
})
