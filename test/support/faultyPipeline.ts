import { eventually } from './eventually.ts'
import {
  expectCommittedIsSearchable,
  expectEachRecordOnce,
  expectNewestVersions,
  expectWatermarkHolds,
} from './expectConsistency.ts'
import { expectFold } from './expectFold.ts'
import { type FaultyElasticsearch, startFaultyElasticsearch } from './faultyElasticsearch.ts'
import { openPipeline, type Pipeline } from './pipeline.ts'
import { type Program, untilReady } from './programs.ts'
import { type History, randomHistory } from './randomHistory.ts'
import { openReplicaObserver, poisonOf, type ReplicaObserver } from './replicaObserver.ts'

const recordCount = 450

/** A fault of Elasticsearch that lasts until it is lifted. */
export type Outage = {
  /** How much of it the indexer has met. */
  met(): number | Promise<number>
  lift(): unknown
}

type Sign = {
  /** How much the indexer must meet before the outage ends. */
  readonly met?: number
  /** What the readiness probe must say of it: an outage that lasts is told. */
  readonly told?: RegExp
}

/** An indexer whose Elasticsearch fails in any number of ways one after the other, and an API whose Elasticsearch does not. */
export type FaultyPipeline = {
  readonly pipeline: Pipeline
  readonly elasticsearch: FaultyElasticsearch
  readonly observer: ReplicaObserver
  /** What the readiness probe says; nothing while it says that all is well. */
  unreadiness(): Promise<string>
  /**
   * Records come before, during and after the outage. While it lasts, nothing is committed or promised too early; after it,
   * without anybody touching the indexer, every record has had its one effect.
   */
  survives(begin: () => Outage | Promise<Outage>, sign?: Sign): Promise<void>
  close(): Promise<void>
}

export async function openFaultyPipeline(): Promise<FaultyPipeline> {
  const pipeline = await openPipeline()
  const elasticsearch = await startFaultyElasticsearch(process.env['ELASTICSEARCH_URL'] ?? '')
  const indexer = await pipeline.startIndexer({ ELASTICSEARCH_URL: elasticsearch.url })
  const poison = new Set<string>()
  const observer = await openReplicaObserver(pipeline, poison)
  const api = await pipeline.startApi()
  const unreadiness = (): Promise<string> => unreadinessOf(indexer)
  let histories = 0

  const expectNothingTooEarly = async (outage: Outage, { met = 2, told }: Sign): Promise<void> => {
    await eventually(async () => (await outage.met()) >= met)
    if (told !== undefined) await eventually(async () => told.test(await unreadiness()))
    await expectCommittedIsSearchable(observer)
    await expectWatermarkHolds(observer)
  }
  return {
    pipeline,
    elasticsearch,
    observer,
    unreadiness,
    survives: async (begin, sign = {}) => {
      const history = underTeamsOfItsOwn(randomHistory(100 + histories, recordCount), `.${histories++}`)
      for (const bytes of poisonOf(history.records)) poison.add(bytes)
      const produce = (from: number, to: number): Promise<void> =>
        pipeline.produceHistory(history.records.slice(from * recordCount, to * recordCount))
      await pipeline.createKeys(history.teams)
      await produce(0, 1 / 3)
      await observer.untilAllCommitted()
      const outage = await begin()
      try {
        // Some of them come again: Elasticsearch finds them stale.
        await produce(1 / 4, 2 / 3)
        await expectNothingTooEarly(outage, sign)
      } finally {
        await outage.lift()
      }
      await produce(2 / 3, Number.POSITIVE_INFINITY)
      await observer.untilAllCommitted()
      await expectNewestVersions(observer)
      await expectFold(pipeline, api, { ...history, teams: history.teams.slice(0, 1) })
      await expectEachRecordOnce(observer, [indexer])
      await untilReady(indexer)
    },
    close: async () => {
      await indexer.end('SIGKILL')
      await api.end('SIGKILL')
      await observer.close()
      await elasticsearch.close()
      await pipeline.close()
    },
  }
}

export async function unreadinessOf(program: Program): Promise<string> {
  const answer = await fetch(`${program.adminUrl}/readyz`)
  return answer.status === 503 ? await answer.text() : ''
}

/** The same history of other teams, so that one pipeline can go through many. */
const underTeamsOfItsOwn = ({ teams, records }: History, suffix: string): History => ({
  teams: teams.map((team) => team + suffix),
  records: records.map((record) => {
    const key = record.key.toString()
    const team = teams.find((each) => key.startsWith(`${each}/`))
    return team === undefined ? record : { ...record, key: Buffer.from(team + suffix + key.slice(team.length)) }
  }),
})
