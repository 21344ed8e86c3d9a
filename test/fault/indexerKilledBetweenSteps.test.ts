import { type BulkDocument, writesSome } from '../support/bulkFaults.ts'
import { holdsAnswer, holdsRequest } from '../support/elasticsearchFaults.ts'
import { eventually } from '../support/eventually.ts'
import {
  expectCommittedIsSearchable,
  expectNewestVersions,
  expectOnlyPoisonSetAside,
  expectWatermarkHolds,
  expectWatermarkOnlyGrows,
} from '../support/expectConsistency.ts'
import { expectFold } from '../support/expectFold.ts'
import { type FaultyElasticsearch, passes, startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { Gate } from '../support/gate.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import type { Program } from '../support/programs.ts'
import { randomHistory } from '../support/randomHistory.ts'
import { openReplicaObserver, poisonOf, type ReplicaObserver } from '../support/replicaObserver.ts'
import { startWatchedRedis, type WatchedRedis } from '../support/watchedRedis.ts'

/** An indexer whose way to Elasticsearch and Redis can be stopped anywhere. */
type Bench = {
  readonly pipeline: Pipeline
  readonly prefix: string
  readonly elasticsearch: FaultyElasticsearch
  readonly redis: WatchedRedis
  readonly observer: ReplicaObserver
  readonly indexer: Program
  /** Produces the records that the indexer is killed over. */
  produceRest(): Promise<void>
}

const history = randomHistory(41, 400)
const half = history.records.length / 2
const poisonRecords = history.records.filter(({ isPoison }) => isPoison)
const poison = new Set(poisonOf(history.records))

/** Kills an indexer where `reach` has brought it to stand, looks at what it leaves, and lets another one go on. */
async function killedWhere(reach: (bench: Bench) => Promise<unknown>): Promise<{ letters: number }> {
  const pipeline = await openPipeline()
  const elasticsearch = await startFaultyElasticsearch(process.env['ELASTICSEARCH_URL'] ?? '')
  const redis = await startWatchedRedis(process.env['REDIS_URL'] ?? '')
  const indexer = await pipeline.startIndexer({ ELASTICSEARCH_URL: elasticsearch.url, REDIS_URL: redis.url })
  const observer = await openReplicaObserver(pipeline, poison)
  const programs = [indexer]
  const cutOff = async (): Promise<void> => {
    await indexer.end('SIGKILL')
    await elasticsearch.close()
    await redis.close()
  }
  try {
    await pipeline.createKeys(history.teams)
    await pipeline.produceHistory(history.records.slice(0, half))
    await observer.untilAllCommitted()
    await untilWatermarkPasses(observer)

    const prefix = pipeline.names['INDEX_PREFIX'] ?? ''
    const produceRest = (): Promise<void> => pipeline.produceHistory(history.records.slice(half))
    await reach({ pipeline, prefix, elasticsearch, redis, observer, indexer, produceRest })
    await cutOff()
    expect(await expectCommittedIsSearchable(observer)).toBeGreaterThan(half / 2)
    expect(await expectWatermarkHolds(observer)).toBeGreaterThan(half / 2)

    const recovery = async (): Promise<void> => {
      programs.push(await pipeline.startIndexer())
      await observer.untilAllCommitted()
      await untilWatermarkPasses(observer)
    }
    await expectWatermarkOnlyGrows(observer, recovery())
    await expectNewestVersions(observer)
    await expectOnlyPoisonSetAside(observer)
    const api = await pipeline.startApi()
    programs.push(api)
    await expectFold(pipeline, api, { ...history, teams: history.teams.slice(0, 1) })
    return { letters: (await observer.letters()).length }
  } finally {
    await cutOff()
    for (const program of programs) await program.end('SIGKILL')
    await observer.close()
    await pipeline.close()
  }
}

async function untilWatermarkPasses(observer: ReplicaObserver): Promise<void> {
  const records = await observer.records()
  const lastMs = Math.max(...records.map(({ appendedAtMs }) => appendedAtMs))
  await eventually(async () => ((await observer.watermarkMs()) ?? 0) > lastMs)
}

/** Whether more is committed than when this is called. */
async function commitsSince({ observer }: Bench): Promise<() => Promise<boolean>> {
  const sum = async (): Promise<bigint> => [...(await observer.committed()).values()].reduce((a, b) => a + b, 0n)
  const before = await sum()
  return async () => (await sum()) > before
}

const bulk = '/_bulk'
const refresh = '/_refresh'
const watermark = ':watermark'

/** Time to publish too early: rounds that began meanwhile have been published. */
async function untilPublishedTwice({ redis, prefix }: Bench): Promise<void> {
  let rounds = 0
  await redis.hold(prefix + watermark, 'command', async () => ++rounds > 2).untilReached()
}

const afterBulk = async (bench: Bench): Promise<void> => {
  const gate = new Gate()
  bench.elasticsearch.inject(bulk, holdsAnswer(gate))
  await bench.produceRest()
  await gate.untilReached()
  await untilPublishedTwice(bench)
}

const afterRefresh = async ({ elasticsearch, produceRest }: Bench): Promise<void> => {
  const gate = new Gate()
  elasticsearch.inject(refresh, holdsAnswer(gate))
  await produceRest()
  await gate.untilReached()
}

const whereOnly =
  (...kinds: string[]) =>
  async (bench: Bench): Promise<void> => {
    const gate = new Gate()
    const names = kinds.map((kind) => `${bench.prefix}-${kind}`)
    const isWritten = ({ index }: BulkDocument): boolean => names.some((name) => index.startsWith(name))
    bench.elasticsearch.inject(bulk, writesSome(isWritten, gate))
    await bench.produceRest()
    await gate.untilReached()
    await untilPublishedTwice(bench)
  }

const whereRedis = (side: 'command' | 'answer') => async (bench: Bench) => {
  const gate = bench.redis.hold(bench.prefix + watermark, side, await commitsSince(bench))
  await bench.produceRest()
  await gate.untilReached()
}

/** Its event loop has gone round, and so has seen the signal, once it has answered. */
async function terminate(indexer: Program): Promise<void> {
  process.kill(indexer.pid, 'SIGTERM')
  await fetch(`${indexer.adminUrl}/livez`)
  await fetch(`${indexer.adminUrl}/livez`)
}

describe('An indexer is killed, and another one goes on: the documents are what the records say, bad records are set aside, and nothing was promised too early', () => {
  test.concurrent.each([
    ['after a bulk is written, before it hears of it', afterBulk],
    ['when only the list documents of records are written', whereOnly('forms', 'submissions')],
    ['when only the detail documents of records are written', whereOnly('form-details', 'submission-details')],
    ['after the refresh, before the commit', afterRefresh],
    ['after the commit, before the watermark', whereRedis('command')],
    ['after the watermark', whereRedis('answer')],
  ])('%s', async (_where, reach) => {
    await killedWhere(reach)
  })

  test.concurrent('after the refresh, before the change tokens', async () => {
    await killedWhere(async ({ elasticsearch, redis, prefix, produceRest }) => {
      const refreshes = elasticsearch.inject(refresh, passes)
      const gate = redis.hold(`${prefix}:change-token`, 'command', async () => refreshes.met() > 0)
      await produceRest()
      await gate.untilReached()
    })
  })

  test.concurrent('after a dead letter is acknowledged, before the commit: it comes again', async () => {
    const { letters } = await killedWhere(async ({ elasticsearch, pipeline, indexer, produceRest }) => {
      const gate = new Gate()
      elasticsearch.inject(refresh, holdsRequest(gate))
      await produceRest()
      await gate.untilReached()
      const writeDeadLetter = (): Promise<number> => indexer.metric('tidemark_records_total', '"dead-letter"')
      const before = await writeDeadLetter()
      await pipeline.produceHistory(poisonRecords)
      await eventually(async () => (await writeDeadLetter()) > before)
    })
    expect(letters).toBeGreaterThan(2 * poisonRecords.length)
  })

  test.concurrent('in the middle of a stop, while it waits for Elasticsearch', async () => {
    await killedWhere(async (bench) => {
      await afterBulk(bench)
      await terminate(bench.indexer)
    })
  })

  test.concurrent('at the end of a stop, before its last refresh', async () => {
    await killedWhere(async ({ elasticsearch, indexer, produceRest }) => {
      const [writes, last] = [new Gate(), new Gate()]
      elasticsearch.inject(bulk, holdsAnswer(writes))
      await produceRest()
      await writes.untilReached()
      elasticsearch.inject(refresh, holdsRequest(last))
      await terminate(indexer)
      writes.open()
      await last.untilReached()
    })
  })
})
