import { Redis } from 'ioredis'
import { clearRedis } from '../support/clearRedis.ts'
import { eventually } from '../support/eventually.ts'
import { rebuildUntilServes } from '../support/indexingProgress.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, probe, runCommand, startProgram, untilReady, untilReported } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { startServing } from '../support/startServing.ts'
import { createTopicsWith, documentTopics, withAdmin } from '../support/topics.ts'

const pipeline = usePipeline({ forEachTest: true })
const team = 'acme'
/** A minute, and what other tests on the same processors may take of it. */
const namedWithinMs = 100_000

const submissions = (ids: readonly string[], revision: number) =>
  ids.map((id) => stateRecord('submissions', `${team}/${id}`, revision))

async function list(api: Program): Promise<{ watermark: string | null; ids: string[] }> {
  const { headers, body } = await pipeline.get(api, team, '/api/v1/records')
  const { items } = body as { items: { id: string }[] }
  return { watermark: headers.get('replica-watermark'), ids: items.map(({ id }) => id).sort() }
}

/** Deletes the topic of submissions, makes it anew, and appends these records. */
async function replaceTopic(records: ReturnType<typeof submissions>): Promise<void> {
  const topic = pipeline.names.TOPIC_SUBMISSIONS
  await withAdmin(pipeline.kafka, async (admin) => {
    await admin.deleteTopics({ topics: [topic] })
    await eventually(async () => !(await admin.listTopics()).includes(topic))
  })
  await createTopicsWith(pipeline.kafka, [topic], 1)
  await pipeline.produce('submissions', records)
}

async function loseRedis(): Promise<void> {
  const redis = new Redis(process.env['REDIS_URL'] ?? '')
  await clearRedis(redis, pipeline.names.INDEX_PREFIX)
  await redis.quit()
}

/** Waits until the indexer has found in Kafka what it has read of the topic of submissions. */
async function untilChecked(): Promise<void> {
  const redis = new Redis(process.env['REDIS_URL'] ?? '')
  await eventually(async () => {
    const [key = ''] = await redis.keys(`${pipeline.names.INDEX_PREFIX}:read-logs:*`)
    const found = await redis.hget(key, `${pipeline.names.TOPIC_SUBMISSIONS}/0`)
    return found !== null && !found.startsWith('0:')
  })
  await redis.quit()
}

/** The key that seals the cursors of the change feed of submissions. */
async function cursorKey(): Promise<unknown> {
  const alias = `${pipeline.names.INDEX_PREFIX}-submissions`
  const [mapping] = Object.values(await pipeline.elasticsearch.indices.getMapping({ index: alias }))
  return mapping?.mappings._meta?.['cursorKey']
}

const old = ['a', 'b', 'c', 'd', 'e']

const fewer = ['b', 'new']
const more = ['b', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7']

test.each([
  ['fewer records, while the indexer runs', true, false, fewer],
  ['more records, while the indexer runs', true, false, more],
  ['fewer records, while the indexer is stopped', false, false, fewer],
  ['more records, while the indexer is stopped', false, false, more],
  ['fewer records, while the indexer is stopped and Redis loses everything', false, true, fewer],
  ['more records, while the indexer is stopped and Redis loses everything', false, true, more],
])(
  'a topic that is deleted and created anew with %s, is reported within a minute, and there is no watermark until a rebuild, which loses no entity',
  async (_how, isRunning, isRedisLost, appended) => {
    await createTopicsWith(pipeline.kafka, documentTopics(pipeline), 1)
    const serving = await startServing(pipeline, { teams: [team] })
    let { indexer } = serving
    const { api } = serving
    await pipeline.produce('submissions', submissions(old, 5))
    await pipeline.untilApplied(api, team)
    await untilChecked()
    const firstKey = await cursorKey()
    if (!isRunning) await indexer.end('SIGTERM')

    await replaceTopic(submissions(appended, 7))
    if (isRedisLost) await loseRedis()
    if (!isRunning) indexer = await startProgram('indexer', pipeline.names)
    const beganAtMs = performance.now()
    const told = await untilReported(indexer, 'logs', /another log than generation 1 was read from/)
    expect(performance.now() - beganAtMs).toBeLessThan(namedWithinMs)
    expect(told).toContain(`${pipeline.names.TOPIC_SUBMISSIONS}/0`)
    expect(await indexer.metric('tidemark_check_ok', 'check="logs"')).toBe(0)
    await eventually(async () => (await list(api)).watermark === null)
    const all = [...new Set([...old, ...appended])].sort()
    // Documents go on.
    await eventually(async () => (await list(api)).ids.join() === all.join())
    // A restart does not forget it.
    await indexer.end('SIGTERM')
    indexer = await startProgram('indexer', pipeline.names)
    await untilReported(indexer, 'logs', /another log/)
    expect((await probe(indexer, 'readyz')).code).toBe(503)

    await rebuildUntilServes(pipeline)
    await untilReady(indexer)
    await eventually(async () => (await list(api)).watermark !== null)
    expect((await list(api)).ids).toEqual(all)
    // The aliases follow the switch.
    await eventually(async () => (await cursorKey()) !== firstKey)

    const verified = await runCommand('verify', [], pipeline.names)
    expect(verified.stdout).toContain(`unexpected ${team} a (submissions)`)
    expect(verified.stdout).not.toContain(`${team} b (`)

    // The next rebuild takes nothing for deleted that no record of the new topic names.
    await rebuildUntilServes(pipeline)
    await untilReady(indexer)
    expect((await list(api)).ids).toEqual(all)
    await indexer.end('SIGTERM')
  },
  240_000,
)
