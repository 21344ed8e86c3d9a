import kafkajs, { type Producer, type ProducerConfig } from 'kafkajs'
import { createCompactedTopics, firstOffsets, shortRetentionMs, untilCompacted } from '../support/compaction.ts'
import { formEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { documentTopics, expectWhole, smallHistory, untilCommitted } from '../support/faults.ts'
import { seeded } from '../support/random.ts'
import type { HistoryRecord } from '../support/randomHistory.ts'
import { usePipeline } from '../support/usePipeline.ts'

const pipeline = usePipeline({ forEachTest: true })
let producer: Producer
afterEach(() => producer?.disconnect())

const connectProducer = async (config: ProducerConfig): Promise<void> => {
  const createPartitioner = kafkajs.Partitioners.DefaultPartitioner
  producer = pipeline.kafka.producer({ ...config, idempotent: true, maxInFlightRequests: 1, createPartitioner })
  await producer.connect()
}
const nameOf = (topic: 'forms' | 'submissions'): string => documentTopics(pipeline)[topic === 'forms' ? 0 : 1] ?? ''
const form = (id: string, changes: Record<string, unknown> = {}): HistoryRecord => ({
  topic: 'forms',
  key: Buffer.from(`acme/${id}`),
  value: Buffer.from(JSON.stringify({ revision: 1, form: formEntity({ id, ...changes }) })),
  isPoison: false,
})

test('committed transactions are indexed and aborted ones never, also when a topic ends with an aborted one', async () => {
  const history = smallHistory(21, 400)
  const random = seeded(21)
  await pipeline.startIndexer()
  await pipeline.createKeys(history.teams)
  const api = await pipeline.startApi()
  await pipeline.untilApplied(api, 'acme')
  await connectProducer({ transactionalId: `${pipeline.names['INDEX_PREFIX']}-producer` })
  const committed: HistoryRecord[] = []
  const size = 25
  for (let at = 0; at < history.records.length; at += size) {
    const records = history.records.slice(at, at + size)
    const transaction = await producer.transaction()
    for (const topic of ['forms', 'submissions'] as const)
      await transaction.send({ topic: nameOf(topic), messages: records.filter((record) => record.topic === topic) })
    if (at + size >= history.records.length || random.chance(0.4)) await transaction.abort()
    else {
      await transaction.commit()
      committed.push(...records)
    }
  }
  await expectWhole(pipeline, api, { ...history, records: committed })
  await untilCommitted(pipeline)
})

test('a segment that ends in a batch without records is read past', async () => {
  await createCompactedTopics(pipeline, [nameOf('forms')], 1, shortRetentionMs)
  const gone = { ...form('gone'), value: null }
  // Two segments that are too large together to be made one.
  const [early, late] = ['early', 'late'].map((id) => form(id, { report: { text: 'x'.repeat(700_000) } }))
  if (early === undefined || late === undefined) throw new Error('two forms')
  await pipeline.produce('forms', [early])
  // Kafka keeps an emptied batch of each such producer.
  await connectProducer({})
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
