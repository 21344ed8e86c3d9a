import { startProgressBar } from '../../src/core/process/progressBar.ts'
import { connectElasticsearch } from '../../src/core/stores/elasticsearch.ts'
import { about } from './indexer/about.ts'
import { chooseRequests } from './indexer/ceiling.ts'
import { contendersOf } from './indexer/contenders.ts'
import { countsOf } from './indexer/counts.ts'
import { feed } from './indexer/feed.ts'
import { eventRates, freshnessName, measureFreshness } from './indexer/freshness.ts'
import { buildGoPipeline } from './indexer/goPipeline.ts'
import { forgetLoads } from './indexer/load.ts'
import { measureMemory } from './indexer/memory.ts'
import { figuresOf, freshnessSection, loadSections } from './indexer/sections.ts'
import { fullSize, type Size } from './indexer/size.ts'
import type { Figures, Samples } from './report.ts'
import type { Results } from './results.ts'
import { runRounds, runsIn } from './rounds.ts'
import type { Stage } from './stage.ts'

/** Measures how fast records become searchable, beside other ways to bring them there, and how soon an event is seen in a list. */
export async function benchIndexer(stage: Stage, size: Size = fullSize): Promise<Results> {
  const client = connectElasticsearch(stage.config)
  stage.release(() => client.close())
  await forgetLoads(stage)
  const go = await buildGoPipeline(stage)
  const running = { stage, client, size, feed: await feed(stage, size) }
  const trials = await chooseRequests(running)
  const contenders = contendersOf(running, go, trials.best)
  const bar = startProgressBar('Running contenders', runsIn(size.rounds, contenders.length), process.stdout)
  const loads = await runRounds(contenders, { ...size.rounds, report: bar.reach }).finally(bar.end)
  const memory = await measureMemory(running, loads)
  const freshness = await measureFreshness(stage, size.freshness)
  const samples: Samples = new Map<string, readonly Figures[]>([
    ...[...loads].map(([name, runs]) => [name, runs.map(figuresOf)] as const),
    ...[...freshness].map(([rate, { sample }]) => [freshnessName(rate), [sample]] as const),
  ])
  return {
    title: 'Indexer: from Kafka to searchable',
    about: about(size, running.feed, trials),
    versions: stage.versions,
    sections: [...loadSections(go), freshnessSection(eventRates)],
    samples,
    counts: countsOf({ loads, memory, freshness }),
  }
}
