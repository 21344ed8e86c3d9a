import { type ConsistencyChecker, checkerTeam, startConsistencyChecker } from '../model/live.ts'
import { formEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { expectFold } from '../support/expectFold.ts'
import {
  deleteRecords,
  documentTopics,
  expectDeadLetters,
  expectWhole,
  smallHistory,
  untilCommitted,
  watermarkOf,
  withAdmin,
} from '../support/faults.ts'
import { type Program, probe, startProgram } from '../support/programs.ts'
import type { History, HistoryRecord } from '../support/randomHistory.ts'
import { usePipeline } from '../support/usePipeline.ts'

const pipeline = usePipeline({ forEachTest: true })
let api: Program
let indexer: Program
let checker: ConsistencyChecker | undefined
const history: History = smallHistory(23, 900)
const third = (at: number): HistoryRecord[] => history.records.slice(at * 300, (at + 1) * 300)

beforeEach(async () => {
  indexer = await pipeline.startIndexer()
  await pipeline.createKeys([...history.teams, checkerTeam])
  api = await pipeline.startApi()
  await pipeline.untilApplied(api, 'acme')
})
afterEach(async () => {
  await checker?.stop()
  checker = undefined
})

describe('Committed offsets that Kafka does not hold', () => {
  test('records that were deleted in Kafka while no indexer ran are gone; it goes on with the first that is left, and promises nothing', async () => {
    await pipeline.produceHistory(third(0))
    await expectWhole(pipeline, api, { ...history, records: third(0) })
    await indexer.end('SIGTERM')
    await pipeline.produceHistory(third(1))
    await withAdmin(pipeline.kafka, async (admin) => {
      for (const topic of documentTopics(pipeline)) await deleteRecords(admin, topic)
    })
    const next = await startProgram('indexer', pipeline.names)
    const problem = async () => (await probe(next, 'readyz')).said.checks['deletions']?.problem ?? ''
    await eventually(async () => (await problem().catch(() => '')).includes('a rebuild is needed'))
    await expectFold(pipeline, api, { ...history, records: third(0) })
    await pipeline.produceHistory(third(2))
    await untilCommitted(pipeline)
    await expectFold(pipeline, api, { ...history, records: [...third(0), ...third(2)] })
    await expectDeadLetters(pipeline, [...third(0), ...third(2)])
    expect(await watermarkOf(pipeline, api, 'acme')).toBeUndefined()
  })
})

test('partitions that a topic is given while it is read hold the watermark back until somebody reads them', async () => {
  checker = await startConsistencyChecker(pipeline, api)
  const topic = pipeline.names['TOPIC_FORMS'] ?? ''
  await withAdmin(pipeline.kafka, (admin) => admin.createPartitions({ topicPartitions: [{ topic, count: 6 }] }))
  const added = Array.from({ length: 20 }, (_, at) => form(`added-${at}`))
  // A producer of its own: one that is connected already does not know of the new partitions.
  const producer = pipeline.kafka.producer()
  await producer.connect()
  const messages = added.map(({ key, value }, at) => ({ key, value, partition: 4 + (at % 2) }))
  const sent = await producer.send({ topic, messages })
  const records = [...added]
  const firstAppendedAtMs = Math.min(...sent.map(({ logAppendTime }) => Number(logAppendTime)))

  // Publishing is a second behind by design, so that only a later second tells.
  for (let lastAppendedAtMs = 0; lastAppendedAtMs < firstAppendedAtMs + 3_000; ) {
    const other = form(`other-${lastAppendedAtMs}`)
    const [place] = await producer.send({ topic, messages: [{ ...other, partition: 0 }] })
    records.push(other)
    lastAppendedAtMs = Number(place?.logAppendTime)
    await eventually(() => isVisible(other))
    const watermarkMs = (await watermarkOf(pipeline, api, 'acme')) ?? 0
    const isPromised = watermarkMs > firstAppendedAtMs
    expect({ isPromised, isVisible: await areVisible(added) }).not.toEqual({ isPromised: true, isVisible: false })
  }
  await producer.disconnect()
  await pipeline.startIndexer()
  await expectWhole(pipeline, api, { teams: ['acme'], records })
  expect(checker.problems()).toEqual([])
})

const form = (id: string): HistoryRecord => ({
  topic: 'forms',
  key: Buffer.from(`acme/${id}`),
  value: Buffer.from(JSON.stringify({ revision: 1, form: formEntity({ id }) })),
  isPoison: false,
})
const areVisible = async (records: readonly HistoryRecord[]): Promise<boolean> =>
  (await Promise.all(records.map(isVisible))).every(Boolean)
const isVisible = async (record: HistoryRecord): Promise<boolean> => {
  const id = record.key.toString().slice('acme/'.length)
  return (await pipeline.get(api, 'acme', `/api/v1/forms/${id}`)).status === 200
}
