import { setTimeout as sleep } from 'node:timers/promises'
import type { ChangePage } from '../support/changeFeed.ts'
import { createCompactedTopics, shortRetentionMs, untilCompacted } from '../support/compaction.ts'
import { eventually } from '../support/eventually.ts'
import { rebuildUntilServes, untilCommitted } from '../support/indexingProgress.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, runCommand, startProgram, untilReady, untilReported } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { startServing } from '../support/startServing.ts'
import { documentTopics, recordsOf, setPolicy, withAdmin } from '../support/topics.ts'

const pipeline = usePipeline()
const team = 'acme'
let api: Program

const submission = (id: string, revision: number) => stateRecord('submissions', `${team}/${id}`, revision)
/** Starts an indexer and waits until it says `problem` of deletions. */
async function startUntilReported(problem: RegExp): Promise<Program> {
  const indexer = await startProgram('indexer', pipeline.names)
  await untilReported(indexer, 'deletions', problem)
  return indexer
}
const list = async (api: Program): Promise<{ status: number; watermark: string | null; ids: string[] }> => {
  const { status, headers, body } = await pipeline.get(api, team, '/api/v1/records')
  const { items = [] } = body as { items?: { id: string }[] }
  return { status, watermark: headers.get('replica-watermark'), ids: items.map(({ id }) => id).sort() }
}
/** Asks for changes since a cursor; returns the status, the code of an error, and the ids and cursor of a page. */
const changesSince = async (api: Program, asked: string) => {
  const { status, body } = await pipeline.get(api, team, `/api/v1/record-changes?cursor=${asked}`)
  const { items = [], cursor = '', error } = body as Partial<ChangePage> & { error?: { code: string } }
  return { status, cursor, code: error?.code, ids: items.map(({ id }) => id) }
}
const expectNoPromise = async (api: Program): Promise<void> => {
  await eventually(async () => (await list(api)).watermark === null)
  expect(await changesSince(api, 'latest')).toMatchObject({ status: 503 })
}

test('an indexer that was off for longer than Kafka keeps deletions publishes no watermark until a rebuild has removed the deleted entities', async () => {
  await createCompactedTopics(pipeline, documentTopics(pipeline), 1, shortRetentionMs)
  const serving = await startServing(pipeline, { teams: [team] })
  const first = serving.indexer
  api = serving.api
  await pipeline.produce(
    'submissions',
    ['broken', 'gone', 'kept', 'late'].map((id) => submission(id, 5)),
  )
  await pipeline.untilApplied(api, team)
  const { cursor } = await changesSince(api, 'latest')
  await first.end('SIGTERM')
  await pipeline.produce('submissions', [
    { key: `${team}/gone`, value: null },
    // Its newest record is a dead letter, which does not delete it.
    { key: `${team}/broken`, value: 'no JSON' },
    submission('late', 3),
  ])
  await sleep(shortRetentionMs)
  await untilCompacted(pipeline, 'submissions', pipeline.names.TOPIC_SUBMISSIONS, async () => {
    const left = (await recordsOf(pipeline.kafka, pipeline.names.TOPIC_SUBMISSIONS)).map(({ key }) => String(key))
    return !left.includes(`${team}/gone`) && left.filter((key) => key === `${team}/broken`).length === 1
  })

  const second = await startUntilReported(/a rebuild is needed/)
  await expectNoPromise(api)
  await untilCommitted(pipeline)
  // It stays so, however new the commits are.
  await second.end('SIGTERM')
  const third = await startUntilReported(/a rebuild is needed/)
  await expectNoPromise(api)
  expect((await list(api)).ids).toEqual(['broken', 'gone', 'kept', 'late'])
  const verified = await runCommand('verify', [], pipeline.names)
  expect([verified.code, verified.stdout]).toEqual([1, expect.stringContaining('unexpected acme gone (submissions)')])

  expect(await rebuildUntilServes(pipeline)).toContain('1 submissions dropped')
  await untilReady(third)
  await eventually(async () => (await list(api)).watermark !== null)
  expect((await list(api)).ids).toEqual(['broken', 'kept', 'late'])
  const late = await pipeline.get(api, team, '/api/v1/records/late')
  expect(late.status).toBe(200)
  // Whoever has followed changes until then is told to begin anew.
  expect(await changesSince(api, cursor)).toMatchObject({ status: 410, code: 'cursor_expired' })
  expect((await runCommand('verify', [], pipeline.names)).stdout).not.toContain('unexpected')
  await third.end('SIGTERM')
}, 180_000)

test('a topic that also deletes by time is reported, and there is no watermark until its policy is compact again and a rebuild has read it', async () => {
  const usePolicy = (policy: string): Promise<void> =>
    withAdmin(pipeline.kafka, (admin) => setPolicy(admin, pipeline.names.TOPIC_SUBMISSIONS, policy))
  await usePolicy('compact,delete')
  const indexer = await startUntilReported(/=compact,delete/)
  await expectNoPromise(api)
  expect(await indexer.metric('tidemark_check_ok', 'check="deletions"')).toBe(0)
  await pipeline.produce('submissions', [submission('later', 1)])
  await eventually(async () => (await list(api)).ids.includes('later'))
  await indexer.end('SIGTERM')

  await usePolicy('compact')
  const repaired = await startUntilReported(/a rebuild is needed/)
  await expectNoPromise(api)
  await rebuildUntilServes(pipeline)
  await untilReady(repaired)
  await eventually(async () => (await list(api)).watermark !== null)
  expect((await list(api)).ids).toEqual(['broken', 'kept', 'late', 'later'])
})

test('a topic that loses LogAppendTime ends its indexer within a minute; the next indexer publishes no watermark, and the change feed still works', async () => {
  const lasting = await pipeline.startIndexer()
  await eventually(async () => (await list(api)).watermark !== null)
  await withAdmin(pipeline.kafka, (admin) =>
    setPolicy(admin, pipeline.names.TOPIC_SUBMISSIONS, 'compact', 'CreateTime'),
  )
  expect([await lasting.ended(), lasting.log()]).toEqual([
    1,
    expect.stringContaining('LogAppendTime since this indexer started'),
  ])
  await pipeline.startIndexer()
  await eventually(async () => (await list(api)).watermark === null)
  const { cursor } = await changesSince(api, 'latest')
  await pipeline.produce('submissions', [submission('last', 1)])
  await eventually(async () => (await changesSince(api, cursor)).ids.includes('last'))
}, 180_000)
