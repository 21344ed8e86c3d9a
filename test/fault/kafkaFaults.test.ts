import kafkajs, { type Producer, type ProducerConfig } from 'kafkajs'
import {
  createCompactedTopics,
  fillerKey,
  firstOffsets,
  shortRetentionMs,
  untilCompacted,
} from '../support/compaction.ts'
import { formEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { documentTopics, expectWhole, recordsOf, smallHistory, untilCommitted } from '../support/faults.ts'
import { seeded } from '../support/random.ts'
import type { HistoryRecord } from '../support/randomHistory.ts'
import { usePipeline } from '../support/usePipeline.ts'

const pipeline = usePipeline({ forEachTest: true })
const producers: Producer[] = []
afterEach(async () => {
  await Promise.all(producers.splice(0).map((producer) => producer.disconnect()))
})

const connectProducer = async (config: ProducerConfig): Promise<Producer> => {
  const createPartitioner = kafkajs.Partitioners.DefaultPartitioner
  const producer = pipeline.kafka.producer({ ...config, maxInFlightRequests: 1, createPartitioner })
  producers.push(producer)
  await producer.connect()
  return producer
}
const transactional = (): Promise<Producer> =>
  connectProducer({ transactionalId: `${pipeline.names['INDEX_PREFIX']}-producer`, idempotent: true })
const nameOf = (topic: 'forms' | 'submissions'): string => documentTopics(pipeline)[topic === 'forms' ? 0 : 1] ?? ''
const batches = (records: readonly HistoryRecord[]) =>
  (['forms', 'submissions'] as const).map((topic) => ({
    topic: nameOf(topic),
    messages: records.filter((record) => record.topic === topic),
  }))
const form = (id: string, changes: Record<string, unknown> = {}): HistoryRecord => ({
  topic: 'forms',
  key: Buffer.from(`acme/${id}`),
  value: Buffer.from(JSON.stringify({ revision: 1, form: formEntity({ id, ...changes }) })),
  isPoison: false,
})

describe('Transactions', () => {
  test('committed transactions are indexed and aborted ones never, also when a topic ends with an aborted one', async () => {
    const history = smallHistory(21, 400)
    const random = seeded(21)
    await pipeline.startIndexer()
    await pipeline.createKeys(history.teams)
    const api = await pipeline.startApi()
    await pipeline.untilApplied(api, 'acme')
    const producer = await transactional()
    const committed: HistoryRecord[] = []
    const size = 25
    for (let at = 0; at < history.records.length; at += size) {
      const records = history.records.slice(at, at + size)
      const transaction = await producer.transaction()
      await transaction.sendBatch({ topicMessages: batches(records) })
      if (at + size >= history.records.length || random.chance(0.4)) await transaction.abort()
      else {
        await transaction.commit()
        committed.push(...records)
      }
    }
    await expectWhole(pipeline, api, { ...history, records: committed })
    await untilCommitted(pipeline)
  })
})

describe('Compaction', () => {
  test('a new indexer on compacted topics builds the documents that one builds who reads every record', async () => {
    const teams = ['acme', 'b.team']
    await createCompactedTopics(pipeline, documentTopics(pipeline), 2, shortRetentionMs)
    // As most clients are: Kafka keeps an emptied batch of each such producer.
    const producer = await connectProducer({ idempotent: true })
    const records = inOrder(smallHistory(22, 500).records)
    const size = 20
    for (let at = 0; at < records.length; at += size)
      await producer.sendBatch({ topicMessages: batches(records.slice(at, at + size)) })
    for (const topic of ['forms', 'submissions'] as const) {
      const isGone = async (): Promise<boolean> => {
        const left = await recordsOf(pipeline.kafka, nameOf(topic))
        const mine = records.filter((record) => record.topic === topic)
        const newest = new Map(mine.map((record) => [record.key.toString(), record.value]))
        const live = [...newest].filter(([, value]) => value !== null)
        const found = left.filter(({ value }) => value !== null)
        return found.length <= live.length && left.length < mine.length
      }
      records.push(await untilCompacted(pipeline, topic, nameOf(topic), isGone))
    }
    await pipeline.startIndexer()
    await pipeline.createKeys(teams)
    const api = await pipeline.startApi()
    await expectWhole(pipeline, api, { teams, records })
    await untilCommitted(pipeline)
  })

  test('a segment that ends in a batch without records is read past', async () => {
    await createCompactedTopics(pipeline, [nameOf('forms')], 1, shortRetentionMs)
    const gone = { ...form('gone'), value: null }
    // Two segments that are too large together to be made one.
    const [early, late] = ['early', 'late'].map((id) => form(id, { report: { text: 'x'.repeat(700_000) } }))
    if (early === undefined || late === undefined) throw new Error('two forms')
    await pipeline.produce('forms', [early])
    const producer = await connectProducer({ idempotent: true })
    const [sent] = await producer.send({ topic: nameOf('forms'), messages: [gone] })
    const appendedAtMs = Number(sent?.logAppendTime)
    await eventually(() => Date.now() > appendedAtMs + 200)
    await pipeline.produce('forms', [late])
    const filler = await untilCompacted(pipeline, 'forms', nameOf('forms'), async (admin) => {
      const first = await firstOffsets(admin, nameOf('forms'), appendedAtMs)
      return (first.get(0) ?? 0n) > BigInt(sent?.baseOffset ?? 0)
    })
    await pipeline.startIndexer()
    await pipeline.createKeys(['acme'])
    const api = await pipeline.startApi()
    await expectWhole(pipeline, api, { teams: ['acme'], records: [early, gone, late, filler] })
  })

  /** As a keeper of a compacted topic writes: what is newest comes last, and nothing shares the key of an entity. */
  const inOrder = (records: readonly HistoryRecord[]): HistoryRecord[] => {
    const revisionOf = ({ value }: HistoryRecord): number =>
      value === null ? Number.MAX_SAFE_INTEGER : (JSON.parse(value.toString()) as { revision: number }).revision
    const sound = records.filter(({ isPoison }) => !isPoison).sort((a, b) => revisionOf(a) - revisionOf(b))
    const filler = ['forms', 'submissions'] as const
    return [
      ...filler.map((topic) => ({ topic, key: fillerKey, value: null, isPoison: false })),
      ...sound,
      { topic: 'forms', key: Buffer.from('no-slash'), value: Buffer.from('{}'), isPoison: true },
    ]
  }
})
