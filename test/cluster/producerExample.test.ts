import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Kafka } from 'kafkajs'
import { pino } from 'pino'
import { connectKafka } from '../../src/core/kafka/client.ts'
import type { Cluster } from '../../tools/engines/engines.ts'
import { testConfig } from '../support/config.ts'
import { eventually } from '../support/eventually.ts'
import { recordsOf } from '../support/faults.ts'
import { clusterDeadlineMs, startOwnCluster } from '../support/ownEngines.ts'

const topics = ['forms', 'submissions']
const transactions = 60
const keyOf = (at: number): string => `acme/e${at}`

const kafka = (): Kafka => connectKafka(testConfig(cluster.urls), pino({ level: 'silent' }))
const keys = Array.from({ length: transactions }, (_, at) => [1, 2, 3].map((copy) => `${keyOf(at)}-${copy}`)).flat()
const keysIn = async (topic: string): Promise<string[]> =>
  (await recordsOf(kafka(), topic, keys)).map(({ key }) => String(key)).sort()
/** A broker that has just become a leader, or is none any more, says so for a moment. */
const countIn = (topic: string): Promise<number> =>
  keysIn(topic).then(
    (found) => found.length,
    () => -1,
  )

let cluster: Cluster
let example: ChildProcess | undefined
beforeAll(async () => {
  cluster = await startOwnCluster(['kafka'])
  const admin = kafka().admin()
  await admin.connect()
  // Partitions of both topics on every broker, with a copy elsewhere.
  const shape = { numPartitions: 6, replicationFactor: 3, configEntries: [{ name: 'min.insync.replicas', value: '1' }] }
  await admin.createTopics({ topics: topics.map((topic) => ({ topic, ...shape })), waitForLeaders: true })
  await admin.disconnect()
  for (const topic of topics) await eventually(async () => (await countIn(topic)) === 0)
}, clusterDeadlineMs)
afterAll(async () => {
  example?.kill('SIGKILL')
  await cluster?.stop()
})

test('of transactions over two topics, nothing is lost and nothing is halved when a broker is killed', async () => {
  const args = [
    '--disable-warning=TimeoutNegativeWarning',
    'docs/producers/produceChanges.ts',
    cluster.urls.KAFKA_BROKERS,
    'x',
  ]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'pipe'] })
  example = child
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = once(child, 'close') as Promise<[number | null]>
  for (let at = 0; at < transactions; at++) {
    const changes = topics.flatMap((topic) =>
      [1, 2, 3].map((copy) => ({ topic, key: `${keyOf(at)}-${copy}`, value: { revision: 1 } })),
    )
    child.stdin.write(`${JSON.stringify(changes)}\n`)
  }
  child.stdin.end()

  await eventually(async () => (await countIn('submissions')) > 30)
  cluster.kafka[1]?.kill('SIGKILL')
  const [code] = await ended
  expect([code, said]).toEqual([0, ''])
  for (const topic of topics) await eventually(async () => (await countIn(topic)) >= 0)
  expect(await keysIn('forms')).toEqual([...keys].sort())
  expect(await keysIn('submissions')).toEqual([...keys].sort())
})
