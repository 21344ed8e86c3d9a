import { submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { usePipeline } from '../support/pipeline.ts'
import { startServing } from '../support/startServing.ts'
import { recordsOf } from '../support/topics.ts'

const pipeline = usePipeline({ forEachTest: true })
const invalidCount = 40_000
const atOnce = 5_000
/** One record a second passes the breaker, so that all of them would take hours. */
const withinMs = 30_000

test('tens of thousands of invalid forms delay neither a submission nor the revocation of a key', async () => {
  const { indexer, api } = await startServing(pipeline, { teams: ['acme', 'other'] })
  const value = JSON.stringify({ form: { title: 'x'.repeat(500) } })
  for (let at = 0; at < invalidCount; at += atOnce)
    await pipeline.produce(
      'forms',
      Array.from({ length: atOnce }, (_, each) => ({ key: `acme/f${at + each}`, value })),
    )
  const limit = await indexer.metric('tidemark_in_flight_limit_bytes')
  // As much as the forms may take.
  await eventually(async () => (await indexer.metric('tidemark_in_flight_bytes')) > 0.7 * limit)

  const appendedAtMs = performance.now()
  const submission = JSON.stringify({ revision: 1, submission: submissionEntity({ id: 's1' }) })
  await pipeline.produce('submissions', [{ key: 'acme/s1', value: submission }])
  const topic = pipeline.names.TOPIC_ACCOUNT_KEYS
  const [key] = await recordsOf(pipeline.kafka, topic, ['other/k1'])
  const { key: entity } = JSON.parse(String(key?.value))
  const revoked = JSON.stringify({ revision: 2, key: { ...entity, state: 'revoked' } })
  await pipeline.produce('account-keys', [{ key: 'other/k1', value: revoked }])
  await eventually(async () => (await pipeline.get(api, 'acme', '/api/v1/records/s1')).status === 200)
  await eventually(async () => (await pipeline.get(api, 'other', '/api/v1/forms')).status === 401)
  expect(performance.now() - appendedAtMs).toBeLessThan(withinMs)
  expect(await indexer.metric('tidemark_records_total', '"dead-letter"')).toBeLessThan(invalidCount / 20)
})
