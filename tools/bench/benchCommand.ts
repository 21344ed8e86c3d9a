import { fileURLToPath } from 'node:url'
import { Argument, Command } from 'commander'
import { runInForeground } from '../engines/foreground.ts'
import * as alternatives from './alternatives.ts'
import * as api from './api.ts'
import * as indexer from './indexer.ts'
import { publish } from './page.ts'
import type { Results } from './report.ts'
import * as search from './search.ts'
import * as sink from './sink.ts'
import { onStage, type Stage } from './stage.ts'

const pathTo = (place: string): string => fileURLToPath(new URL(place, import.meta.url))

type Bench = (stage: Stage, isSmall: boolean) => Promise<Results>
const benches: Readonly<Record<string, Bench>> = {
  api: (stage, isSmall) => api.benchApi(stage, isSmall ? api.smallSize : api.fullSize),
  search: (stage, isSmall) => search.benchSearch(stage, isSmall ? search.smallSize : search.fullSize),
  indexer: (stage, isSmall) => indexer.benchIndexer(stage, isSmall ? indexer.smallSize : indexer.fullSize),
  alternatives: (stage, isSmall) =>
    alternatives.benchAlternatives(stage, isSmall ? alternatives.smallSize : alternatives.fullSize),
  sink: (stage, isSmall) => sink.benchSink(stage, isSmall ? sink.smallSize : sink.fullSize),
}
/** The sink needs a clone of its source, and is only run by name. */
const byDefault = Object.keys(benches).filter((name) => name !== 'sink')
const small = '-small'

export const command = new Command()
  .addArgument(
    new Argument(
      '[names...]',
      'what to measure; the small ones take minutes, mean little, and write to var/bench-small',
    )
      .choices(['', small].flatMap((size) => Object.keys(benches).map((name) => name + size)))
      .default(byDefault),
  )
  .action(async (names: string[]) => {
    await runInForeground((stopped) => run(names, stopped))
    // Ends without waiting for requests in flight.
    process.exit()
  })

async function run(names: readonly string[], stopped: AbortSignal): Promise<void> {
  for (const name of new Set(names)) {
    const isSmall = name.endsWith(small)
    const bench = benches[isSmall ? name.slice(0, -small.length) : name]
    if (bench === undefined) throw new Error(`there is no bench ${name}`)
    await onStage(pathTo('../../var/bench'), pathTo('../../var/engines'), stopped, async (stage) => {
      const { versions } = stage
      const places = { folder: pathTo('results'), summary: pathTo('../../docs/performance.md') }
      const where = isSmall ? { folder: pathTo('../../var/bench-small') } : places
      await publish(name, await bench(stage, isSmall), { ...where, versions })
    })
  }
}
