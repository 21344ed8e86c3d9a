import { eventually } from '../support/eventually.ts'
import { documentedMetrics, isOwn } from '../support/metrics.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, probe, untilReady, untilReported } from '../support/programs.ts'
import { signInSettings } from '../support/signIns.ts'
import { alterTopic, createTopicsWith, withAdmin } from '../support/topics.ts'

/** What the brokers of the tests take of a topic without a bound of its own. */
const brokerMaxBytes = 16 * 1024 * 1024
const pipeline = usePipeline()
let processes: Record<'api' | 'indexer' | 'settings', Program>

beforeAll(async () => {
  // With one partition each, so that few indexers are enough for one of them to be a spare.
  const { TOPIC_FORMS, TOPIC_SUBMISSIONS, TOPIC_ACCOUNT_KEYS, TOPIC_DEAD_LETTERS } = pipeline.names
  await createTopicsWith(pipeline.kafka, [TOPIC_FORMS, TOPIC_SUBMISSIONS, TOPIC_ACCOUNT_KEYS], 1)
  const large = { 'cleanup.policy': 'delete', 'max.message.bytes': String(2 * brokerMaxBytes) }
  await createTopicsWith(pipeline.kafka, [TOPIC_DEAD_LETTERS], 1, large)
  const indexer = await pipeline.startIndexer()
  const [api, settings] = [await pipeline.startApi(), await pipeline.startSettings(signInSettings)]
  processes = { api, indexer, settings }
})

test('/readyz names every check with its result', async () => {
  const names = {
    api: ['process', 'elasticsearch', 'cluster', 'redis', 'account keys'],
    indexer: [
      ...['process', 'elasticsearch', 'cluster', 'kafka', 'redis', 'account keys'],
      ...['preparation', 'generation', 'writer', 'publisher'],
    ],
    settings: ['process', 'kafka', 'redis', 'account keys'],
  }
  for (const name of ['api', 'indexer', 'settings'] as const) {
    const { code, body } = await probe(processes[name], 'readyz')
    expect([code, body.status]).toEqual([200, 'ready'])
    expect(Object.keys(body.checks)).toEqual(expect.arrayContaining(names[name]))
    for (const check of Object.values(body.checks)) expect(check).toEqual({ ok: true })
  }
})

const setLetters = (settings: Record<string, string>) =>
  withAdmin(pipeline.kafka, (admin) => alterTopic(admin, pipeline.names.TOPIC_DEAD_LETTERS, settings))

test("/readyz reports a topic of dead letters with a smaller size limit than its sources, also where the limit is the brokers'", async () => {
  await setLetters({ 'max.message.bytes': String(brokerMaxBytes) })
  const problem = await untilReported(processes.indexer, 'dead letters', /takes records of/)
  expect(problem).toMatch(`${brokerMaxBytes} of ${pipeline.names.TOPIC_SUBMISSIONS}`)
  await setLetters({ 'max.message.bytes': String(brokerMaxBytes + 4_096) })
  await untilReady(processes.indexer)
  await setLetters({ 'max.message.bytes': '100' })
  // The broker takes a new setting a moment after it was acknowledged.
  await untilReported(processes.indexer, 'dead letters', /takes records of 100 bytes/)
})

test('/readyz reports a dead letter that Kafka refuses, until Kafka accepts it', async () => {
  await pipeline.produce('forms', [{ key: 'no-slash', value: 'x'.repeat(1_000) }])
  const failing = async (): Promise<string[]> => {
    const { body } = await probe(processes.indexer, 'readyz')
    return Object.entries(body.checks).flatMap(([name, { problem }]) => (problem ? [`${name}: ${problem}`] : []))
  }
  await untilReported(processes.indexer, 'dead letters', /^writing the dead letter of /)
  expect(await failing()).toHaveLength(1)
  await setLetters({ 'max.message.bytes': String(2 * brokerMaxBytes) })
  await untilReady(processes.indexer)
  expect(await pipeline.deadLetters(1)).toHaveLength(1)
})

test('an indexer without partitions is ready', async () => {
  const spares = await Promise.all(Array.from({ length: 3 }, () => pipeline.startIndexer()))
  const indexers = [processes.indexer, ...spares]
  await eventually(async () => {
    const lines = await Promise.all(indexers.map(partitionsOf))
    return lines.includes(0) && lines.reduce((sum, each) => sum + each, 0) === 3
  })
  await Promise.all(indexers.map(untilReady))
  for (const spare of spares) await spare.end('SIGTERM')
  await untilReady(processes.indexer)
})

const partitionsOf = async ({ adminUrl }: Program): Promise<number> =>
  (await (await fetch(`${adminUrl}/status`)).text()).split(', this</td>').length - 1

test('a process exposes the metrics of docs/metrics.md, and default metrics of prom-client', async () => {
  const letters = { api: 'A', indexer: 'I', settings: 'S' } as const
  for (const [name, letter] of Object.entries(letters) as [keyof typeof letters, 'A' | 'I' | 'S'][]) {
    const text = await (await fetch(`${processes[name].adminUrl}/metrics`)).text()
    const all = [...text.matchAll(/^# TYPE (?<name>\w+) (?<type>\w+)$/gm)].map(
      ({ groups }) => groups as { name: string; type: string },
    )
    const linesOf = (metrics: readonly { name: string; type: string }[]) =>
      metrics.map((metric) => `${metric.name} ${metric.type}`).sort()
    const told = all.filter(isOwn)
    expect(told.length).toBeLessThan(all.length)
    expect(linesOf(told)).toEqual(linesOf(documentedMetrics(letter)))
  }
})
