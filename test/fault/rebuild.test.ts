import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { definitionOf, documentKinds } from '../../src/core/elasticsearch/indices.ts'
import { startPollingReader, startSteadyWriter } from '../model/live.ts'
import { eventually } from '../support/eventually.ts'
import { expectFold } from '../support/expectFold.ts'
import { untilCaughtUp, untilServes } from '../support/indexingProgress.ts'
import { closeAfterwards } from '../support/lifecycle.ts'
import { indexName } from '../support/names.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, probe, startProgram, untilReady, untilReported } from '../support/programs.ts'
import { randomHistory } from '../support/randomHistory.ts'
import { startServing } from '../support/startServing.ts'
import { useFolder } from '../support/temporaryFolder.ts'
import { deleteRecords, documentTopics, withAdmin } from '../support/topics.ts'

const pipeline = usePipeline({ forEachTest: true })
/** Of another release. */
const folder = useFolder()

const startRebuild = (settings = {}, root?: string): Promise<Program> =>
  startProgram('rebuild', { ...pipeline.names, ...settings }, [], root)
const indices = async (): Promise<string[]> => {
  const prefix = `${pipeline.names.INDEX_PREFIX}-`
  const found = await pipeline.elasticsearch.indices.get({ index: `${prefix}*` })
  const names = Object.keys(found).map((name) => name.slice(prefix.length))
  return names.sort()
}
const indicesOf = async (generation: number): Promise<string[]> => {
  const prefix = pipeline.names.INDEX_PREFIX
  const names = await Promise.all(documentKinds.map((kind) => indexName(prefix, kind, generation)))
  return names.map((name) => name.slice(prefix.length + 1)).sort()
}

const shardsOf = async (generation: number): Promise<Set<unknown>> => {
  const index = `${pipeline.names.INDEX_PREFIX}-*-${generation}`
  const found = await pipeline.elasticsearch.indices.getSettings({ index, flat_settings: true })
  return new Set(Object.values(found).map(({ settings }) => settings?.['index.number_of_shards']))
}

/** Deletes every record of both topics. Their policy also deletes by age, so a rebuild may not take missing records for deletions. */
const forgetTopics = (): Promise<void> =>
  withAdmin(pipeline.kafka, async (admin) => {
    for (const topic of documentTopics(pipeline)) await deleteRecords(admin, topic, 'compact,delete')
  })

test('a client that polls through a rebuild under 500 writes a second sees no error, no missing item and no older revision', async () => {
  const history = randomHistory(21, 500)
  const { indexer, api } = await startServing(pipeline, history)
  const second = await pipeline.startIndexer()
  await pipeline.createKeys(['steady'])
  await eventually(async () => (await pipeline.get(api, 'steady', '/api/v1/records')).status === 200)
  const steady = closeAfterwards(startSteadyWriter(pipeline, { seed: 22, perSecond: 500, team: 'steady' }))
  const reader = closeAfterwards(startPollingReader(pipeline, api, steady))
  await eventually(() => steady.written() > 1_000)
  let rebuild: Program
  let code: number | null
  // On a machine with too much to do its lock may expire, or a step of the switch take five seconds, before it has changed anything for readers.
  const held = /the lock of the switch has expired|not written in time|switching\nrebuild: Request timed out/
  do {
    rebuild = await startRebuild()
    code = await rebuild.ended()
  } while (code === 1 && held.test(rebuild.log()))
  expect([code, rebuild.log()]).toEqual([0, expect.stringMatching(/generation \d+ serves/)])
  const before = steady.written()
  await eventually(() => steady.written() > before + 1_000)
  await steady.stop()
  await untilCaughtUp(pipeline, api, 'acme')
  await eventually(() => reader.answers() > 100)
  expect(await reader.stop()).toEqual([])
  await expectFold(pipeline, api, history)
  expect(await indices()).toEqual(await indicesOf(2))
  const lettersOf = (each: Program): Promise<number> => each.metric('tidemark_records_total', '"dead-letter"')
  const letters = (await lettersOf(indexer)) + (await lettersOf(second))
  expect(letters).toBe(history.records.filter(({ isDeadLetter }) => isDeadLetter).length)
})

test('a rebuild copies deletions and newer revisions that Kafka no longer has, also into more shards', async () => {
  const history = randomHistory(23, 500)
  const { api } = await startServing(pipeline, history)
  await forgetTopics()
  // Late records: each is older than what the live indices know, and none of them may win after the rebuild.
  const late = history.records.filter(({ isDeadLetter, value }) => !isDeadLetter && value !== null).slice(0, 300)
  await pipeline.produceHistory(late)
  const rebuild = await startRebuild({ INDEX_SHARDS: '3' })
  expect(await untilServes(rebuild)).toBe(2)
  expect(rebuild.log()).toMatch(/\d+ documents compared, [1-9]\d* copied/)
  await expectFold(pipeline, api, { ...history, records: [...history.records, ...late] })
  expect(await shardsOf(2)).toEqual(new Set(['3']))
})

test('after a rebuild with INDEX_ANSWERS=false, answers cannot be searched, and an API with answers gives 503 until another rebuild', async () => {
  const history = randomHistory(26, 300)
  const { indexer, api } = await startServing(pipeline, history)
  await indexer.end('SIGTERM')
  const without = { INDEX_ANSWERS: 'false' }
  const first = await startRebuild(without)
  expect(await untilServes(first)).toBe(2)
  const [lean, leanApi] = [await pipeline.startIndexer(without), await pipeline.startApi(without)]
  await untilCaughtUp(pipeline, leanApi, 'acme')
  await expectFold(pipeline, leanApi, history)
  const answer = '/api/v1/records?answer.1=one'
  const asked = (from: Program, path = answer) => pipeline.get(from, 'acme', path)
  for (const path of [answer, '/api/v1/record-counts?by=day,answer&code=1'])
    expect(await asked(leanApi, path)).toMatchObject({
      ...{ status: 400, body: { error: { message: expect.stringContaining('answers are not indexed here') } } },
    })
  expect((await asked(api)).status).toBe(503)
  await lean.end('SIGTERM')

  // The first one still waits to remove what served before it, and this one removes it, too.
  expect(await untilServes(await startRebuild())).toBe(4)
  expect(await first.ended()).toBe(0)
  await pipeline.startIndexer()
  await untilCaughtUp(pipeline, api, 'acme')
  await expectFold(pipeline, api, history)
  const listed = async (query: string) => {
    const { body } = await asked(api, `/api/v1/records?limit=100${query}`)
    return (body as { items: { data: Record<string, unknown> | null }[] }).items
  }
  const having = (await listed('')).filter(({ data }) => data?.['1'] === 'one')
  expect(having.length).toBeGreaterThan(0)
  expect(await listed('&answer.1=one')).toEqual(having)
})

test('a release with other mappings waits, reports it, and takes over once its rebuild has made its indices', async () => {
  const history = randomHistory(25, 300)
  const { indexer, api } = await startServing(pipeline, history)
  for (const part of ['bin', 'src', 'indexer', 'mappings', 'package.json'])
    await cp(part, join(folder, part), { recursive: true })
  await symlink(resolve('node_modules'), join(folder, 'node_modules'))
  const mapping = join(folder, 'mappings/submissions.json')
  const definition = JSON.parse(await readFile(mapping, 'utf8')) as { version: number }
  await writeFile(mapping, JSON.stringify({ ...definition, version: definition.version + 1 }))

  const next = await startProgram('indexer', pipeline.names, [], folder)
  const says = (program: Program): Promise<string> =>
    fetch(`${program.adminUrl}/readyz`).then(
      (answer) => answer.text(),
      () => '',
    )
  await eventually(async () => (await says(next)).includes('mappings of another release'))
  const nextApi = await startProgram('api', pipeline.names, [], folder)
  const statusOf = async (list: string): Promise<number> =>
    (await pipeline.get(nextApi, 'acme', `/api/v1/${list}`)).status
  await untilReported(nextApi, 'elasticsearch', /is of an earlier release/)
  await untilReported(nextApi, 'process', /^has not been able to answer yet/)
  // It would take the place of an API that works.
  expect((await probe(nextApi, 'readyz')).code).toBe(503)
  // Nothing is read by a field that its index may lack. The mapping of forms is the same.
  expect([await statusOf('records'), await statusOf('forms')]).toEqual([503, 200])
  closeAfterwards(startSteadyWriter(pipeline, { seed: 27, perSecond: 100, team: 'steady' }))
  const rebuild = await startRebuild({}, folder)
  expect(await untilServes(rebuild)).toBe(2)
  await untilReady(next)
  await untilReady(nextApi)
  expect(await statusOf('records')).toBe(200)
  await eventually(async () => (await says(indexer)).includes('mappings of another release'))
  // Whatever it was writing is refused now, and is no writer that is blocked.
  expect(await says(indexer)).toContain('"writer":{"ok":true}')
  const { version } = definitionOf('submissions', true)
  const [old, now] = [version, version + 1].map((each) => `submissions-v${each}-`) as [string, string]
  const built = (await indicesOf(2)).map((name) => name.replace(old, now))
  expect(await indices()).toEqual(expect.arrayContaining(built))
  await untilCaughtUp(pipeline, api, 'acme')
  await expectFold(pipeline, api, history)
})

test('a rebuild that cannot copy documents reports the reason, can be stopped, and has changed nothing', async () => {
  const history = randomHistory(26, 300)
  const { api } = await startServing(pipeline, history)
  await forgetTopics()
  const index = await indexName(pipeline.names.INDEX_PREFIX, 'submissions', 2)
  // As the mappings of an older release, to which somebody wants to go back.
  const mappings = { dynamic: 'strict', properties: { teamId: { type: 'keyword' } } } as const
  const aliases = { [`${index}-write`]: { is_write_index: true } }
  await pipeline.elasticsearch.indices.create({ index, mappings, aliases })
  const rebuild = await startRebuild()
  await eventually(() => rebuild.log().includes('waiting: 400 strict_dynamic_mapping_exception'))
  expect(await rebuild.end('SIGTERM')).toBe(1)
  await expectFold(pipeline, api, history)
})
