import { formEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { untilCommitted } from '../support/indexingProgress.ts'
import { useStarted } from '../support/lifecycle.ts'
import { createWithMissingShards, giveMissingShards, isShardMissing } from '../support/missingShards.ts'
import { usePipeline } from '../support/pipeline.ts'
import { startProgram, untilReported } from '../support/programs.ts'

const pipeline = usePipeline()
const pattern = (): string => `${pipeline.names.INDEX_PREFIX}-forms-v*`
const indexer = useStarted('the indexer', async () => {
  await createWithMissingShards(pipeline.elasticsearch, pattern())
  return await pipeline.startIndexer({ INDEX_SHARDS: '2' })
})
/** It answers for the shards that are there, and is not ready. */
const api = useStarted('the API', () => startProgram('api', pipeline.names))

const teams = Array.from({ length: 20 }, (_, at) => `team-${at}`)
const formsOfEach = 300

const totals = async (of: readonly string[]): Promise<(number | undefined)[]> => {
  const ask = (team: string) => pipeline.get(api, team, '/api/v1/forms?limit=1').catch(() => undefined)
  const answers = await Promise.all(of.map(ask))
  return answers.map((answer) => (answer?.body as { totalDocs?: number } | undefined)?.totalDocs)
}

test('while a shard has no copy, records of other shards are served at once, and its own records once it has a copy again', async () => {
  const { elasticsearch } = pipeline
  await pipeline.createKeys(teams)
  const placed = await Promise.all(
    teams.map(async (team) => ({ team, isMissing: await isShardMissing(elasticsearch, pattern(), team) })),
  )
  const healthy = placed.flatMap(({ team, isMissing }) => (isMissing ? [] : [team]))
  expect([healthy.length > 0, healthy.length < teams.length]).toEqual([true, true])
  const records = Array.from({ length: formsOfEach }, (_, at) => `f${at}`).flatMap((id) =>
    teams.map((team) => ({ key: `${team}/${id}`, value: JSON.stringify({ revision: 1, form: formEntity({ id }) }) })),
  )
  await pipeline.produce('forms', records)
  await eventually(async () => (await totals(healthy)).every((total) => total === formsOfEach))
  await untilReported(indexer, 'writer', /unavailable_shards_exception/)

  await giveMissingShards(elasticsearch, pattern())
  await eventually(async () => (await totals(teams)).every((total) => total === formsOfEach))
  await untilCommitted(pipeline)
})
