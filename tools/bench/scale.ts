import { connectElasticsearch } from '../../src/core/stores/elasticsearch.ts'
import { startLoadGenerator } from './load/generator.ts'
import { measure } from './measuring.ts'
import type { Results } from './results.ts'
import { about } from './scale/about.ts'
import { measureAnswerCosts } from './scale/answerCosts.ts'
import { compareAll } from './scale/comparisons.ts'
import { countsOf } from './scale/counts.ts'
import { measureIndexer } from './scale/indexerRuns.ts'
import { planWorlds } from './scale/plan.ts'
import { raiseWorlds } from './scale/raise.ts'
import { measureRedis } from './scale/redisBytes.ts'
import { fullSize, type Size } from './scale/size.ts'
import type { Stage } from './stage.ts'

/** Measures how bytes, memory, CPU time and latency grow with submissions, teams and shards: what docs/scale.md rests on. */
export async function benchScale(stage: Stage, size: Size = fullSize): Promise<Results> {
  const client = connectElasticsearch(stage.config)
  stage.release(() => client.close())
  const redis = await measureRedis(stage, size.redisTeams)
  const indexer = await measureIndexer(stage, client, size)
  const worlds = await raiseWorlds(client, planWorlds(size), stage)
  const generator = startLoadGenerator()
  stage.release(() => generator.close())
  const measuring = { generator, stage }
  const comparison = compareAll({ ...measuring, keys: worlds.keys }, worlds)
  const samples = await measure('Measuring', comparison, size.rounds)
  const answers = await measureAnswerCosts({ ...measuring, client }, worlds, size.costRounds)
  return {
    title: 'How it grows: submissions, teams, shards',
    about: about(size),
    versions: stage.versions,
    sections: comparison.sections,
    samples,
    counts: countsOf({ redis, indexer, answers, worlds }),
  }
}
