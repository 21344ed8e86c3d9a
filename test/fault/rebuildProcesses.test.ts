import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { processStart } from '../../tools/engines/runningProcess.ts'
import { closing } from '../support/closing.ts'
import { eventually } from '../support/eventually.ts'
import { expectFold } from '../support/expectFold.ts'
import { withAdmin } from '../support/faults.ts'
import { passes, startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { Gate } from '../support/gate.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { type History, randomHistory } from '../support/randomHistory.ts'
import { usePipeline } from '../support/usePipeline.ts'

const processes = 3

const pipeline = usePipeline({ forEachTest: true })
const close = closing()

async function filled(history: History): Promise<Program> {
  await pipeline.startIndexer()
  await pipeline.createKeys(history.teams)
  await pipeline.produceHistory(history.records)
  const api = await pipeline.startApi()
  await pipeline.untilApplied(api, 'acme')
  return api
}

type HeldRebuild = { readonly rebuild: Program; readonly workers: readonly number[]; letWrite(): void }

/** A rebuild whose processes have shared the partitions, and cannot write what they have read until they are let. */
async function startHeldRebuild(): Promise<HeldRebuild> {
  const elasticsearch = close(await startFaultyElasticsearch(process.env['ELASTICSEARCH_URL'] ?? ''))
  const gate = new Gate()
  elasticsearch.inject('/_bulk', async (exchange) => {
    await gate.pass()
    await passes(exchange)
  })
  const settings = { ...pipeline.names, ELASTICSEARCH_URL: elasticsearch.url }
  const args = ['--processes', String(processes)]
  const rebuild = await startProgram('indexer/generations/rebuildCommand.ts', settings, args)
  await eventually(haveJoined)
  await gate.untilReached()
  return { rebuild, workers: await childrenOf(rebuild.pid), letWrite: () => gate.open() }
}

const haveJoined = (): Promise<boolean> =>
  withAdmin(pipeline.kafka, async (admin) => {
    const { groups } = await admin.describeGroups([`${pipeline.names['CONSUMER_GROUP']}-rebuild`])
    return groups.every(({ state, members }) => state === 'Stable' && members.length === processes)
  })

async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  const pairs = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  return pairs.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []))
}

const haveEnded = async (pids: readonly number[]): Promise<boolean> =>
  (await Promise.all(pids.map(processStart))).every((start) => start === undefined)

test('several processes share a rebuild; when one is killed, the others read its partitions, and nothing is missing', async () => {
  const history = randomHistory(27, 1_000)
  const api = await filled(history)
  const { rebuild, workers, letWrite } = await startHeldRebuild()
  expect(workers).toHaveLength(processes)
  const [killed = 0] = workers
  process.kill(killed, 'SIGKILL')
  letWrite()
  const code = await rebuild.ended()
  expect([code, rebuild.log()]).toEqual([0, expect.stringContaining('generation 2 serves')])
  expect(rebuild.log()).toContain(`process ${killed} was ended by SIGKILL; the others read its partitions`)
  expect(await haveEnded(workers)).toBe(true)
  await pipeline.produce('forms', [{ key: 'acme/last', value: null }])
  await pipeline.untilApplied(api, 'acme')
  await expectFold(pipeline, api, history)
})

test('the processes of a rebuild end with it, however it ends, and it ends with the last of them', async () => {
  await filled(randomHistory(28, 100))
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const { rebuild, workers } = await startHeldRebuild()
    expect(await rebuild.end(signal)).toBe(signal === 'SIGTERM' ? 1 : null)
    await eventually(() => haveEnded(workers))
  }
  const { rebuild, workers } = await startHeldRebuild()
  for (const worker of workers) process.kill(worker, 'SIGKILL')
  expect([await rebuild.ended(), rebuild.log()]).toEqual([
    1,
    expect.stringContaining('rebuild: no process is left that reads Kafka: the last one was ended by SIGKILL'),
  ])
})
