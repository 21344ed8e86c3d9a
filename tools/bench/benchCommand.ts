import { fileURLToPath } from 'node:url'
import { Argument, Command } from 'commander'
import { runInForeground } from '../engines/foreground.ts'
import * as alternatives from './alternatives.ts'
import * as api from './api.ts'
import * as indexer from './indexer.ts'
import { publish } from './page.ts'
import type { Results } from './report.ts'
import * as search from './search.ts'
import { onStage, type Stage } from './stage.ts'

const pathTo = (place: string): string => fileURLToPath(new URL(place, import.meta.url))

const benches: Readonly<Record<string, (stage: Stage) => Promise<Results>>> = {
  api: (stage) => api.benchApi(stage, api.fullSize),
  search: (stage) => search.benchSearch(stage, search.fullSize),
  indexer: (stage) => indexer.benchIndexer(stage, indexer.fullSize),
  alternatives: (stage) => alternatives.benchAlternatives(stage, alternatives.fullSize),
}
const small: typeof benches = {
  'api-small': (stage) => api.benchApi(stage, api.smallSize),
  'search-small': (stage) => search.benchSearch(stage, search.smallSize),
  'indexer-small': (stage) => indexer.benchIndexer(stage, indexer.smallSize),
  'alternatives-small': (stage) => alternatives.benchAlternatives(stage, alternatives.smallSize),
}

export const command = new Command()
  .addArgument(
    new Argument(
      '[names...]',
      'what to measure; the small ones take minutes, mean little, and write to var/bench-small',
    )
      .choices([...Object.keys(benches), ...Object.keys(small)])
      .default(Object.keys(benches)),
  )
  .action(async (names: string[]) => {
    await runInForeground((stopped) => run(names, stopped))
    // What was under way when the bench was stopped is not waited for.
    process.exit()
  })

async function run(names: readonly string[], stopped: AbortSignal): Promise<void> {
  for (const name of new Set(names)) {
    const bench = benches[name] ?? small[name]
    if (bench === undefined) throw new Error(`there is no bench ${name}`)
    await onStage(pathTo('../../var/bench'), pathTo('../../var/engines'), stopped, async (stage) => {
      const { versions } = stage
      const places = { folder: pathTo('results'), summary: pathTo('../../docs/performance.md'), versions }
      await publish(
        name,
        await bench(stage),
        name in benches ? places : { folder: pathTo('../../var/bench-small'), versions },
      )
    })
  }
}
