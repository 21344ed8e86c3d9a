import { aliasOf, documentKinds } from '../../src/core/elasticsearch/indices.ts'
import { eventually } from '../support/eventually.ts'
import { expectFold } from '../support/expectFold.ts'
import { startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { untilCaughtUp, untilServes } from '../support/indexingProgress.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { randomHistory } from '../support/randomHistory.ts'
import { startServing } from '../support/startServing.ts'

const pipeline = usePipeline({ forEachTest: true })
const faulty = useStarted('Elasticsearch with faults', () => startFaultyElasticsearch())
afterEach(() => faulty.restore())

/** The generations that the read aliases name. */
async function aliased(): Promise<Set<number>> {
  const name = documentKinds.map((kind) => aliasOf(pipeline.names.INDEX_PREFIX, kind))
  const found = Object.keys(await pipeline.elasticsearch.indices.getAlias({ name }))
  return new Set(found.map((index) => Number(index.slice(index.lastIndexOf('-') + 1))))
}

const blocked = async (): Promise<unknown[]> => {
  const index = `${pipeline.names.INDEX_PREFIX}-*`
  const found = await pipeline.elasticsearch.indices.getSettings({ index, flat_settings: true })
  return Object.values(found).filter(({ settings }) => settings?.['index.blocks.write'] !== undefined)
}

/** A rebuild that has switched in Redis, and whose request to move the aliases reaches nobody. */
async function switchWithoutAliases(): Promise<Program> {
  const moving = faulty.inject('/_aliases', ({ response }) => response.destroy(), {
    when: ({ body }) => body.includes('-whole'),
  })
  const rebuild = await startProgram('rebuild', { ...pipeline.names, ELASTICSEARCH_URL: faulty.url })
  expect(await untilServes(rebuild)).toBe(2)
  await eventually(async () => moving.met() > 0)
  return rebuild
}

test('after a rebuild died right after its switch, the API reads the new generation, and the next indexer moves the aliases', async () => {
  const history = randomHistory(28, 300)
  const { indexer, api } = await startServing(pipeline, { ...history, records: history.records.slice(0, 200) })
  await indexer.end('SIGTERM')
  // The rebuild alone reads these.
  await pipeline.produceHistory(history.records.slice(200))
  const rebuild = await switchWithoutAliases()
  await rebuild.end('SIGKILL')
  expect([await aliased(), await blocked()]).toEqual([new Set([1]), []])
  await pipeline.untilApplied(api, 'acme')
  await expectFold(pipeline, api, history)
  await pipeline.startIndexer()
  expect(await aliased()).toEqual(new Set([2]))
  await untilCaughtUp(pipeline, api, 'acme')
  await expectFold(pipeline, api, history)
})

test('a rebuild whose request to move the aliases got lost ends with exit code 0 once an indexer has moved them', async () => {
  const history = randomHistory(29, 200)
  const { api } = await startServing(pipeline, history)
  const rebuild = await switchWithoutAliases()
  expect([await rebuild.ended(), await aliased()]).toEqual([0, new Set([2])])
  await expectFold(pipeline, api, history)
})
