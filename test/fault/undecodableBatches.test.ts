import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { clearRedis } from '../support/clearRedis.ts'
import { eventually } from '../support/eventually.ts'
import { watermarkOf } from '../support/indexingProgress.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startOwnEngines } from '../support/ownEngines.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram, untilReady, untilReported } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { startServing } from '../support/startServing.ts'

/** Comes last, so that the latest append time is its own. */
const damaged = 1
const others = [0, 2, 3]
const partitions = [...others, damaged]

const kafka = useStarted('Kafka', () => startOwnEngines(['kafka']))
const pipeline = usePipeline({ forEachTest: true })
let api: Program

beforeEach(async () => {
  const serving = await startServing(pipeline, { teams: ['acme'] })
  api = serving.api
  await produceForms('first')
  await pipeline.untilApplied(api, 'acme')
  await serving.indexer.end('SIGTERM')
})

/** The file that holds the first records of a partition. */
const logFile = (topic: string, partition: number): string =>
  join(kafka.engine('kafka').dataFolder, 'log', `${topic}-${partition}`, '00000000000000000000.log')

/** One form in each partition, in a batch of its own. */
async function produceForms(name: string): Promise<void> {
  for (const partition of partitions) {
    const { key, value } = stateRecord('forms', `acme/${name}-${partition}`, 1)
    await pipeline.produce('forms', [{ key, value, partition }])
  }
}

type Damage = (log: Buffer) => void

/** Changes what the broker has stored; the result undoes it. */
async function damage(file: string, change: Damage): Promise<() => Promise<void>> {
  const whole = await readFile(file)
  const changed = Buffer.from(whole)
  change(changed)
  await writeFile(file, changed, { flag: 'r+' })
  return () => writeFile(file, whole, { flag: 'r+' })
}

const flipByteOf =
  (text: string): Damage =>
  (log) => {
    const at = log.indexOf(text)
    log.writeUInt8(log.readUInt8(at) ^ 0x01, at)
  }
/** The broker follows the lengths from batch to batch. */
const shortenSecondBatch: Damage = (log) => {
  log.writeInt32BE(3, 12 + log.readInt32BE(8) + 8)
}

const statusOf = async (id: string): Promise<number> => (await pipeline.get(api, 'acme', `/api/v1/forms/${id}`)).status

const namesBatch = /the record batch at offsets 1 to 1 cannot be decoded: its checksum is wrong$/
test.each<[string, Damage, RegExp]>([
  ['has a flipped byte', flipByteOf(`second-${damaged}`), namesBatch],
  ['is too short for a batch', shortenSecondBatch, /the broker finds its log damaged \(CORRUPT_MESSAGE\)$/],
])(
  'a batch that %s pauses only its own partition, is reported, and is read once it can be decoded',
  async (_, change, problem) => {
    await produceForms('second')
    const secondAtMs = pipeline.appendedAtMs()
    await produceForms('third')
    const topic = pipeline.names.TOPIC_FORMS
    const mend = await damage(logFile(topic, damaged), change)

    const indexer = await startProgram('indexer', pipeline.names)
    for (const partition of others) await eventually(async () => (await statusOf(`third-${partition}`)) === 200)
    const told = await untilReported(indexer, 'decoding', /./)
    expect(told).toMatch(problem)
    expect(told).toMatch(new RegExp(`^${topic}/${damaged}: `))
    expect(await indexer.metric('tidemark_check_ok', 'check="decoding"')).toBe(0)
    expect(await indexer.metric('tidemark_partition_paused')).toBe(1)
    expect(await indexer.metric('tidemark_partition_paused', `topic="${topic}",partition="${damaged}"`)).toBe(1)
    expect([await statusOf(`second-${damaged}`), await statusOf(`third-${damaged}`)]).toEqual([404, 404])
    // What comes later to the others goes through, and nothing is promised of what stands.
    await produceForms('fourth')
    await eventually(async () => (await statusOf('fourth-0')) === 200)
    expect(await watermarkOf(pipeline, api, 'acme')).toBeLessThanOrEqual(secondAtMs)

    await mend()
    await untilReady(indexer)
    await pipeline.untilApplied(api, 'acme')
    for (const name of ['second', 'third', 'fourth']) expect(await statusOf(`${name}-${damaged}`)).toBe(200)
    expect(await indexer.metric('tidemark_check_ok', 'check="decoding"')).toBe(1)
    expect(await indexer.metric('tidemark_partition_paused')).toBe(0)
  },
)

test('account keys are not complete while a batch of their topic cannot be decoded, and /readyz names the batch', async () => {
  const redis = new Redis(process.env['REDIS_URL'] ?? '')
  const topic = pipeline.names.TOPIC_ACCOUNT_KEYS
  const found = await Promise.all(partitions.map((each) => readFile(logFile(topic, each))))
  const holding = partitions[found.findIndex((log) => log.includes('acme/k1'))] ?? 0
  const mend = await damage(logFile(topic, holding), flipByteOf('acme/k1'))
  await clearRedis(redis, pipeline.names.INDEX_PREFIX)
  redis.disconnect()
  const indexer = await startProgram('indexer', pipeline.names)
  const told = await untilReported(indexer, 'account keys', /cannot be decoded/)
  expect(told).toBe(
    `is not complete: ${topic}/${holding}: the record batch at offsets 0 to 0 cannot be decoded: its checksum is wrong`,
  )
  expect(await statusOf('first-0')).toBe(503)
  await mend()
  await untilReady(indexer)
  await eventually(async () => (await statusOf('first-0')) === 200)
})
