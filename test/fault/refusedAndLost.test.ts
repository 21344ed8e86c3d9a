import { refusesDocuments } from '../support/bulkFaults.ts'
import { idsSince } from '../support/changeFeed.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { rebuildUntilServes } from '../support/indexingProgress.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import type { Program } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { startServing } from '../support/startServing.ts'
import { createTopicsWith, documentTopics } from '../support/topics.ts'

const pipeline = usePipeline({ forEachTest: true })
const faulty = useStarted('Elasticsearch with faults', () => startFaultyElasticsearch())
afterEach(() => faulty.restore())

const team = 'acme'
const state = (id: string, revision: number, changes = {}) => ({
  ...stateRecord('submissions', `${team}/${id}`, revision, changes),
})

const follow = (api: Program, cursor?: string, path?: string) => idsSince(pipeline, { api, team, cursor, path })

test('a follower gets a state that was a dead letter until a rebuild indexed it', async () => {
  await createTopicsWith(pipeline.kafka, documentTopics(pipeline), 1)
  const { api } = await startServing(pipeline, { teams: [team], indexerSettings: { ELASTICSEARCH_URL: faulty.url } })
  await pipeline.produce('submissions', [state('a', 4)])
  await pipeline.untilApplied(api, team)
  // As an Elasticsearch with too little memory, or other settings, refuses a document for good.
  faulty.inject(
    '/_bulk',
    refusesDocuments(({ id, version }) => (id === `${team}/a` && version === 5 ? 400 : undefined)),
  )
  await pipeline.produce('submissions', [state('a', 5, { serialNumber: 5 })])
  await pipeline.deadLetters(1)
  await pipeline.produce('submissions', [state('b', 1)])
  await pipeline.untilApplied(api, team)
  const first = await follow(api)
  expect(first.ids).toEqual(['a', 'b'])
  await faulty.restore()
  await rebuildUntilServes(pipeline)
  await pipeline.produce('submissions', [state('c', 1)])
  await pipeline.untilApplied(api, team)
  const { body } = await pipeline.get(api, team, '/api/v1/records/a')
  expect(body).toMatchObject({ serialNumber: 5 })
  // Either the row comes, or the follower is told to start anew.
  const next = await follow(api, first.cursor).catch((error: Error) => error.message)
  if (typeof next === 'string') expect(next).toMatch(/^410/)
  else expect([...next.ids].sort()).toEqual(['a', 'c'])
})

test('a follower of whole entities continues although Elasticsearch failed at one detail document until its record became a dead letter', async () => {
  await createTopicsWith(pipeline.kafka, documentTopics(pipeline), 1)
  const { api } = await startServing(pipeline, { teams: [team], indexerSettings: { ELASTICSEARCH_URL: faulty.url } })
  await pipeline.produce('submissions', [state('a', 1)])
  await pipeline.untilApplied(api, team)
  const fails = ({ index, id }: { index: string; id: string }): boolean =>
    index.includes('submission-details') && id === `${team}/half`
  faulty.inject(
    '/_bulk',
    refusesDocuments((document) => (fails(document) ? 500 : undefined)),
  )
  await pipeline.produce('submissions', [state('half', 1), state('b', 1)])
  await pipeline.deadLetters(1)
  await faulty.restore()
  await pipeline.produce('submissions', [state('c', 1)])
  await pipeline.untilApplied(api, team)
  const listed = await pipeline.get(api, team, '/api/v1/records')
  expect((listed.body as { items: { id: string }[] }).items.map(({ id }) => id).sort()).toEqual(['a', 'b', 'c', 'half'])
  const whole = '/api/v1/record-changes?view=full'
  const first = await follow(api, undefined, whole)
  expect([...first.ids].sort()).toEqual(['a', 'b', 'c'])
  // The dead letter is replayed.
  await pipeline.produce('submissions', [state('half', 1)])
  await pipeline.untilApplied(api, team)
  expect((await follow(api, first.cursor, whole)).ids).toEqual(['half'])
}, 300_000)

test('a first walk has every item older than its watermark, also one that changed while an earlier record waits for Elasticsearch', async () => {
  await createTopicsWith(pipeline.kafka, documentTopics(pipeline), 1)
  const { api } = await startServing(pipeline, { teams: [team], indexerSettings: { ELASTICSEARCH_URL: faulty.url } })
  await pipeline.produce('submissions', [state('a', 1), state('b', 1)])
  const appendedAtMs = pipeline.appendedAtMs()
  await pipeline.untilApplied(api, team)
  faulty.inject(
    '/_bulk',
    refusesDocuments(({ id }) => (id === `${team}/stuck` ? 404 : undefined)),
  )
  await pipeline.produce('submissions', [state('stuck', 1), state('a', 2, { serialNumber: 2 })])
  await eventually(async () => {
    const { body } = await pipeline.get(api, team, '/api/v1/records/a')
    return (body as { serialNumber: number }).serialNumber === 2
  })
  const { headers } = await pipeline.get(api, team, '/api/v1/record-changes')
  expect(Date.parse(headers.get('replica-watermark') ?? '')).toBeGreaterThan(appendedAtMs)
  expect([...(await follow(api)).ids].sort()).toEqual(['a', 'b'])
})
