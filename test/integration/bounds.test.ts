import { readFile } from 'node:fs/promises'
import { eventually } from '../support/eventually.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { createTopicsWith } from '../support/topics.ts'

const mebibyte = 1024 * 1024

const pipeline = usePipeline({ forEachTest: true })

/** Records of forms whose ids are numbered. */
const formRecords = (count: number, from: number, bytes = 0) =>
  Array.from({ length: count }, (_, at) =>
    stateRecord('forms', `acme/f${from + at}`, 1, { description: 'x'.repeat(bytes) }),
  )
const processedRecords = (indexer: Program): Promise<number> => indexer.metric('tidemark_records_total')
const writeDeadLetter = (indexer: Program): Promise<number> => indexer.metric('tidemark_records_total', '"dead-letter"')

test('when an indexer rejects nearly every record, it pauses before the whole topic is in the dead letters, and continues once there are good records', async () => {
  const indexer = await pipeline.startIndexer()
  const bad = Array.from({ length: 2_500 }, (_, at) => ({ key: `acme/f${at}`, value: '{"form":{}}' }))
  await pipeline.produce('forms', bad)
  const says = async (): Promise<string> => await (await fetch(`${indexer.adminUrl}/readyz`)).text()
  await eventually(async () => (await says()).includes('nearly all records of'))
  expect(await indexer.metric('tidemark_check_ok', 'breaker')).toBe(0)
  const formsPartitions = 4
  expect(await indexer.metric('tidemark_partition_paused', pipeline.names.TOPIC_FORMS)).toBe(formsPartitions)
  expect(await indexer.metric('tidemark_partition_paused')).toBe(formsPartitions)
  const letters = await writeDeadLetter(indexer)
  expect(letters).toBeLessThan(1_100)
  await pipeline.produce('forms', formRecords(200, bad.length))
  await eventually(async () => (await processedRecords(indexer)) === bad.length + 200)
  expect(await writeDeadLetter(indexer)).toBe(bad.length)
  await eventually(async () => JSON.parse(await says()).status === 'ready')
  expect(await indexer.metric('tidemark_partition_paused')).toBe(0)
})

test('a rejected record that fits into the dead letters only compressed becomes a dead letter', async () => {
  const { TOPIC_FORMS, TOPIC_DEAD_LETTERS } = pipeline.names
  const bounded = (bytes: number) => ({ 'max.message.bytes': String(bytes) })
  await createTopicsWith(pipeline.kafka, [TOPIC_FORMS], 4, bounded(8 * mebibyte))
  await createTopicsWith(pipeline.kafka, [TOPIC_DEAD_LETTERS], 1, { ...bounded(mebibyte), 'cleanup.policy': 'delete' })
  // It is not ready: other ones may not fit.
  const indexer = await startProgram('indexer', pipeline.names)
  await pipeline.produce('forms', [{ key: 'no-slash', value: 'x'.repeat(3 * mebibyte) }])
  await eventually(() =>
    writeDeadLetter(indexer).then(
      (written) => written === 1,
      () => false,
    ),
  )
})

test.each([
  { size: '1 KB', bytes: 0, count: 20_000, perRequest: 1_000 },
  { size: '5 MB', bytes: 5 * mebibyte, count: 24, perRequest: 1 },
])('an indexer keeps records of $size in memory within the configured bytes', async ({ bytes, count, perRequest }) => {
  const maxInFlightBytes = 32 * mebibyte
  await createTopicsWith(pipeline.kafka, [pipeline.names.TOPIC_FORMS], 4, {
    'max.message.bytes': String(8 * mebibyte),
  })
  for (let at = 0; at < count; at += perRequest) await pipeline.produce('forms', formRecords(perRequest, at, bytes))
  const indexer = await pipeline.startIndexer({ MAX_IN_FLIGHT_BYTES: String(maxInFlightBytes) })
  let [peakInFlight, peakResident] = [0, 0]
  await eventually(async () => {
    peakInFlight = Math.max(peakInFlight, await indexer.metric('tidemark_in_flight_bytes'))
    const status = await readFile(`/proc/${indexer.pid}/status`, 'utf8')
    peakResident = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024
    return (await processedRecords(indexer)) >= count
  })
  // One record more than the bound may be taken: otherwise one that is larger would never be.
  expect(peakInFlight).toBeLessThanOrEqual(maxInFlightBytes + 3 * (bytes + 4_096) + 1_024)
  expect(peakInFlight).toBeGreaterThan(maxInFlightBytes / 8)
  // What Node itself and the answers of Kafka take comes on top.
  expect(peakResident).toBeLessThan(500 * mebibyte)
  expect(await writeDeadLetter(indexer)).toBe(0)
})
