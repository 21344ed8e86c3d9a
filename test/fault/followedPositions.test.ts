import { Redis } from 'ioredis'
import { refusesDocuments } from '../support/bulkFaults.ts'
import { idsSince } from '../support/changeFeed.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { rebuildUntilServes } from '../support/indexingProgress.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram, untilReady } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { startServing } from '../support/startServing.ts'
import { createTopicsWith, documentTopics, withAdmin } from '../support/topics.ts'

const pipeline = usePipeline({ forEachTest: true })
const faulty = useStarted('Elasticsearch with faults', () => startFaultyElasticsearch())
afterEach(() => faulty.restore())

const team = 'acme'
const state = (id: string, revision: number, changes = {}) => ({
  ...stateRecord('submissions', `${team}/${id}`, revision, changes),
})

const follow = (api: Program, cursor?: string) => idsSince(pipeline, { api, team, cursor })

const statusOf = async (api: Program, id: string): Promise<number> =>
  (await pipeline.get(api, team, `/api/v1/records/${id}`)).status

/** Below which offset of a partition of submissions everything is published as visible in some generation. */
async function visiblePosition(partition: number): Promise<number> {
  const redis = new Redis(process.env['REDIS_URL'] ?? '')
  const names = await redis.keys(`${pipeline.names.INDEX_PREFIX}:visible-positions:submissions:*`)
  const found = await Promise.all(names.map((name) => redis.hget(name, String(partition))))
  await redis.quit()
  return Math.max(-1, ...found.map((position) => Number(position ?? -1)))
}

test('a follower gets an entity that has the same revision in two partitions, whichever partition a rebuild reads first', async () => {
  await createTopicsWith(pipeline.kafka, documentTopics(pipeline), 2)
  const { api } = await startServing(pipeline, { teams: [team], indexerSettings: { ELASTICSEARCH_URL: faulty.url } })
  // A walk from the beginning would read what is not visible, too.
  const begun = await follow(api)
  // A record that Elasticsearch does not take holds the position of partition 0 back.
  const stuck = faulty.inject(
    '/_bulk',
    refusesDocuments(({ id }) => (id === `${team}/stuck` ? 404 : undefined)),
  )
  const large = { data: { q1: 'x'.repeat(100_000) } }
  const fillers = Array.from({ length: 40 }, (_, at) => state(`filler-${at}`, 1, large))
  const again = state('again', 5)
  // One batch each, since Kafka gives out whole batches.
  for (const each of [state('stuck', 1), ...fillers, again])
    await pipeline.produce('submissions', [{ ...each, partition: 0 }])
  await eventually(async () => (await statusOf(api, 'again')) === 200)
  // Partition 1 was added, say, and the product sends its entities once more.
  await pipeline.produce('submissions', [{ ...again, partition: 1 }])
  await eventually(async () => (await visiblePosition(1)) === 1)
  const first = await follow(api, begun.cursor)
  expect(first.ids).not.toContain('again')
  // It reads the short partition before the end of the long one.
  await rebuildUntilServes(pipeline)
  stuck.lift()
  await pipeline.produce('submissions', [{ ...state('last', 1), partition: 1 }])
  await pipeline.untilApplied(api, team)
  expect((await follow(api, first.cursor)).ids).toContain('again')
})

test('after a topic was replaced by one with another name, a follower gets 410 or misses nothing', async () => {
  const [forms, submissions] = documentTopics(pipeline)
  const other = `${submissions}-2`
  await createTopicsWith(pipeline.kafka, [forms, submissions], 1)
  const { indexer, api } = await startServing(pipeline, { teams: [team] })
  const all = Array.from({ length: 20 }, (_, at) => state(`s${at}`, 1))
  await pipeline.produce('submissions', all)
  await pipeline.untilApplied(api, team)
  const first = await follow(api)
  expect(first.ids).toHaveLength(20)
  await indexer.end('SIGTERM')
  await createTopicsWith(pipeline.kafka, [other], 1)
  await pipeline.produce(other, [...all.slice(0, 5), state('new', 1)])
  const next = await startProgram('indexer', { ...pipeline.names, TOPIC_SUBMISSIONS: other })
  await eventually(async () => (await statusOf(api, 'new')) === 200)
  await eventually(async () => {
    const found = await follow(api, first.cursor).catch((error: Error) => error.message)
    return typeof found === 'string' ? /^(410|503)/.test(found) : found.ids.includes('new')
  })
  await withAdmin(pipeline.kafka, (admin) => admin.deleteTopics({ topics: [submissions] }))
  await rebuildUntilServes(pipeline, { TOPIC_SUBMISSIONS: other })
  await untilReady(next)
  await eventually(async () => (await pipeline.get(api, team, '/api/v1/record-changes')).status === 200)
  await expect(follow(api, first.cursor)).rejects.toThrow(/^410/)
  const anew = await follow(api)
  expect([...anew.ids].sort()).toEqual([...first.ids, 'new'].sort())
  await pipeline.produce(other, [state('s0', 2), state('later', 1)])
  await eventually(async () => (await follow(api, anew.cursor)).ids.length === 2)
})
