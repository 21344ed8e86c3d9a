import { eventually } from './eventually.ts'
import { expectFold } from './expectFold.ts'
import { type FaultyElasticsearch, startFaultyElasticsearch } from './faultyElasticsearch.ts'
import { openPipeline, type Pipeline } from './pipeline.ts'
import { type Program, untilReady } from './programs.ts'
import { randomWorld, type World } from './randomWorld.ts'
import {
  expectCommittedIsSearchable,
  expectEachRecordOnce,
  expectNewestVersions,
  expectWatermarkHolds,
} from './verdict.ts'
import { openWitness, poisonOf, type Witness } from './witness.ts'

const recordCount = 450

/** Something that is wrong until it is lifted. */
export type Trouble = {
  /** How much of it the indexer has met. */
  met(): number | Promise<number>
  lift(): unknown
}

type Sign = {
  /** How much the indexer must meet before the trouble ends. */
  readonly met?: number
  /** What the readiness probe must say of it: trouble that lasts is told. */
  readonly told?: RegExp
}

/** One indexer, and one API that sees no trouble, live through any number of troubles in any order. */
export type Ordeal = {
  readonly pipeline: Pipeline
  readonly elasticsearch: FaultyElasticsearch
  readonly witness: Witness
  /** What the readiness probe says; nothing while it says that all is well. */
  unreadiness(): Promise<string>
  /**
   * Records come before, during and after the trouble. While it lasts, nothing is committed or promised too early; after it,
   * without anybody touching the indexer, every record has had its one effect.
   */
  survives(begin: () => Trouble | Promise<Trouble>, sign?: Sign): Promise<void>
  close(): Promise<void>
}

export async function openOrdeal(): Promise<Ordeal> {
  const pipeline = await openPipeline()
  const elasticsearch = await startFaultyElasticsearch(process.env['ELASTICSEARCH_URL'] ?? '')
  const indexer = await pipeline.startIndexer({ ELASTICSEARCH_URL: elasticsearch.url })
  const poison = new Set<string>()
  const witness = await openWitness(pipeline, poison)
  const api = await pipeline.startApi()
  const unreadiness = (): Promise<string> => unreadinessOf(indexer)
  let worlds = 0

  const expectNothingTooEarly = async (trouble: Trouble, { met = 2, told }: Sign): Promise<void> => {
    await eventually(async () => (await trouble.met()) >= met)
    if (told !== undefined) await eventually(async () => told.test(await unreadiness()))
    await expectCommittedIsSearchable(witness)
    await expectWatermarkHolds(witness)
  }
  return {
    pipeline,
    elasticsearch,
    witness,
    unreadiness,
    survives: async (begin, sign = {}) => {
      const world = underTeamsOfItsOwn(randomWorld(100 + worlds, recordCount), `.${worlds++}`)
      for (const bytes of poisonOf(world.records)) poison.add(bytes)
      const produce = (from: number, to: number): Promise<void> =>
        pipeline.produceWorld(world.records.slice(from * recordCount, to * recordCount))
      await pipeline.createKeys(world.teams)
      await produce(0, 1 / 3)
      await witness.untilAllCommitted()
      const trouble = await begin()
      try {
        // Some of them come again: Elasticsearch finds them stale.
        await produce(1 / 4, 2 / 3)
        await expectNothingTooEarly(trouble, sign)
      } finally {
        await trouble.lift()
      }
      await produce(2 / 3, Number.POSITIVE_INFINITY)
      await witness.untilAllCommitted()
      await expectNewestVersions(witness)
      await expectFold(pipeline, api, { ...world, teams: world.teams.slice(0, 1) })
      await expectEachRecordOnce(witness, [indexer])
      await untilReady(indexer)
    },
    close: async () => {
      await indexer.end('SIGKILL')
      await api.end('SIGKILL')
      await witness.close()
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
const underTeamsOfItsOwn = ({ teams, records }: World, suffix: string): World => ({
  teams: teams.map((team) => team + suffix),
  records: records.map((record) => {
    const key = record.key.toString()
    const team = teams.find((each) => key.startsWith(`${each}/`))
    return team === undefined ? record : { ...record, key: Buffer.from(team + suffix + key.slice(team.length)) }
  }),
})
