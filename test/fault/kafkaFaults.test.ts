import kafkajs, { type Producer, type ProducerConfig } from 'kafkajs'
import { checkerTeam, startConsistencyChecker } from '../model/live.ts'
import { createCompactedTopics, shortRetentionMs, untilCompacted } from '../support/compaction.ts'
import { eventually } from '../support/eventually.ts'
import { expectFold } from '../support/expectFold.ts'
import {
  expectDeadLetters,
  expectWhole,
  smallHistory,
  untilCommitted,
  watermarkOf,
} from '../support/indexingProgress.ts'
import { closeAfterwards } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram, untilReported } from '../support/programs.ts'
import { seeded } from '../support/random.ts'
import { type HistoryRecord, stateRecord } from '../support/randomHistory.ts'
import { startServing } from '../support/startServing.ts'
import { deleteRecords, documentTopics, withAdmin } from '../support/topics.ts'

const pipeline = usePipeline({ forEachTest: true })
const history = smallHistory(23, 900)
let api: Program
let indexer: Program

const connectProducer = async (config: ProducerConfig): Promise<Producer> => {
  const createPartitioner = kafkajs.Partitioners.DefaultPartitioner
  const producer = closeAfterwards(
    pipeline.kafka.producer({ ...config, idempotent: true, maxInFlightRequests: 1, createPartitioner }),
  )
  await producer.connect()
  return producer
}
const startBoth = async (): Promise<void> => {
  ;({ indexer, api } = await startServing(pipeline, { teams: [...history.teams, checkerTeam] }))
}
const nameOf = (topic: 'forms' | 'submissions'): string => documentTopics(pipeline)[topic === 'forms' ? 0 : 1]

test('committed transactions are indexed and aborted ones never, also at the end of a topic', async () => {
  const random = seeded(21)
  await startBoth()
  const sending = await connectProducer({ transactionalId: `${pipeline.names.INDEX_PREFIX}-producer` })
  const committed: HistoryRecord[] = []
  const [size, count] = [25, 400]
  for (let at = 0; at < count; at += size) {
    const records = history.records.slice(at, at + size)
    const transaction = await sending.transaction()
    for (const topic of ['forms', 'submissions'] as const)
      await transaction.send({ topic: nameOf(topic), messages: records.filter((record) => record.topic === topic) })
    if (at + size >= count || random.chance(0.4)) await transaction.abort()
    else {
      await transaction.commit()
      committed.push(...records)
    }
  }
  await expectWhole(pipeline, api, { ...history, records: committed })
  await untilCommitted(pipeline)
})

test('an indexer reads past a segment that ends in a batch without records', async () => {
  await createCompactedTopics(pipeline, [nameOf('forms')], 1, shortRetentionMs)
  const gone = stateRecord('forms', 'acme/gone', null)
  // Two segments that are too large together to be made one.
  const large = (id: string) => stateRecord('forms', `acme/${id}`, 1, { report: { text: 'x'.repeat(700_000) } })
  const [early, late] = [large('early'), large('late')]
  await pipeline.produce('forms', [early])
  // Kafka keeps an emptied batch of each such producer.
  const sending = await connectProducer({})
  const [sent] = await sending.send({ topic: nameOf('forms'), messages: [gone] })
  const appendedAtMs = Number(sent?.logAppendTime)
  await eventually(() => Date.now() > appendedAtMs + 200)
  await pipeline.produce('forms', [late])
  const filler = await untilCompacted(pipeline, 'forms', nameOf('forms'), async (admin) => {
    const [first] = await admin.fetchTopicOffsetsByTimestamp(nameOf('forms'), appendedAtMs)
    return BigInt(first?.offset ?? 0) > BigInt(sent?.baseOffset ?? 0)
  })
  await startBoth()
  await expectWhole(pipeline, api, { teams: ['acme'], records: [early, gone, late, filler] })
})

test('after Kafka deleted records while no indexer ran, an indexer continues with the first remaining record, and publishes no watermark', async () => {
  const third = (at: number): HistoryRecord[] => history.records.slice(at * 300, (at + 1) * 300)
  await startBoth()
  await pipeline.produceHistory(third(0))
  await expectWhole(pipeline, api, { ...history, records: third(0) })
  await indexer.end('SIGTERM')
  await pipeline.produceHistory(third(1))
  await withAdmin(pipeline.kafka, async (admin) => {
    for (const topic of documentTopics(pipeline)) await deleteRecords(admin, topic)
  })
  const next = await startProgram('indexer', pipeline.names)
  await untilReported(next, 'deletions', /a rebuild is needed/)
  await expectFold(pipeline, api, { ...history, records: third(0) })
  await pipeline.produceHistory(third(2))
  await untilCommitted(pipeline)
  await expectFold(pipeline, api, { ...history, records: [...third(0), ...third(2)] })
  await expectDeadLetters(pipeline, [...third(0), ...third(2)])
  expect(await watermarkOf(pipeline, api, 'acme')).toBeUndefined()
})

test('after partitions were added to a topic, the watermark stands still until an indexer reads them', async () => {
  const isVisible = async ({ key }: HistoryRecord): Promise<boolean> =>
    (await pipeline.get(api, 'acme', `/api/v1/forms/${key.toString().slice('acme/'.length)}`)).status === 200
  const areVisible = async (records: readonly HistoryRecord[]): Promise<boolean> =>
    (await Promise.all(records.map(isVisible))).every(Boolean)
  await startBoth()
  const checker = closeAfterwards(await startConsistencyChecker(pipeline, api))
  const topic = nameOf('forms')
  await withAdmin(pipeline.kafka, (admin) => admin.createPartitions({ topicPartitions: [{ topic, count: 6 }] }))
  const added = Array.from({ length: 20 }, (_, at) => stateRecord('forms', `acme/added-${at}`, 1))
  // A producer of its own: one that is connected already does not know of the new partitions.
  const sending = await connectProducer({})
  const messages = added.map(({ key, value }, at) => ({ key, value, partition: 4 + (at % 2) }))
  const sent = await sending.send({ topic, messages })
  const records = [...added]
  const firstAppendedAtMs = Math.min(...sent.map(({ logAppendTime }) => Number(logAppendTime)))

  // Publishing is a second behind by design, so that only a later second tells.
  for (let lastAppendedAtMs = 0; lastAppendedAtMs < firstAppendedAtMs + 3_000; ) {
    const other = stateRecord('forms', `acme/other-${lastAppendedAtMs}`, 1)
    const [place] = await sending.send({ topic, messages: [{ ...other, partition: 0 }] })
    records.push(other)
    lastAppendedAtMs = Number(place?.logAppendTime)
    await eventually(() => isVisible(other))
    const watermarkMs = (await watermarkOf(pipeline, api, 'acme')) ?? 0
    const isPromised = watermarkMs > firstAppendedAtMs
    expect({ isPromised, isVisible: await areVisible(added) }).not.toEqual({ isPromised: true, isVisible: false })
  }
  await pipeline.startIndexer()
  await expectWhole(pipeline, api, { teams: ['acme'], records })
  expect(checker.problems()).toEqual([])
})
