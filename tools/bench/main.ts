/** `npm run bench`: side-by-side figures on real engines of its own. */
import { fileURLToPath } from 'node:url'
import { Argument, Command } from 'commander'
import { watchParent } from '../engines/foreground.ts'
import { benchApi } from './api.ts'
import { smallSize as fewRecords } from './indexer/size.ts'
import { benchIndexer } from './indexer.ts'
import { publishTogether } from './overview.ts'
import { publish, type Results } from './results.ts'
import { smallSize } from './scale/size.ts'
import { benchScale } from './scale.ts'
import { benchSearch } from './search.ts'
import { onStage, type Stage } from './stage.ts'

const pathTo = (place: string): string => fileURLToPath(new URL(place, import.meta.url))
const folder = pathTo('results')
const trialFolder = pathTo('../../var/bench-small')
const benches = {
  api: { measure: benchApi, folder },
  search: { measure: benchSearch, folder },
  indexer: { measure: benchIndexer, folder },
  scale: { measure: benchScale, folder },
  'indexer-small': {
    measure: (stage: Stage): Promise<Results> => benchIndexer(stage, fewRecords),
    folder: trialFolder,
  },
  'scale-small': {
    measure: (stage: Stage): Promise<Results> => benchScale(stage, smallSize),
    folder: trialFolder,
  },
}
type Name = keyof typeof benches

const names = Object.keys(benches) as Name[]
const everything = names.filter((name) => benches[name].folder === folder)
const command = new Command('bench')
  .description(
    'Measures side by side, on engines of its own, and writes tables and charts to tools/bench/results; of several, one of all as well.',
  )
  .addArgument(
    new Argument(
      '[names...]',
      'what to measure; indexer-small and scale-small try these out and write to var/bench-small',
    )
      .choices(names)
      .default(everything, everything.join(', ')),
  )

async function run(wanted: readonly Name[], stopped: AbortSignal): Promise<void> {
  const published = new Map<string, Results>()
  for (const name of new Set(wanted)) {
    const { measure, folder: to } = benches[name]
    const results = await onStage(pathTo('../../var/bench'), pathTo('../../var/engines'), stopped, measure)
    await publish(name, results, to)
    if (to === folder) published.set(name, results)
  }
  if (published.size > 1) await publishTogether(published, folder)
}

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => stop.abort(new Error(`ended by ${signal}`)))
// Whoever read the output may be gone; that alone is no reason to stop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
watchParent(() => stop.abort(new Error('ended with the process that started it')))

await run(command.parse().processedArgs[0] as Name[], stop.signal).catch((error: unknown) => {
  process.stderr.write(`bench: ${(error as Error).message}\n`)
  process.exitCode = 1
})
// What was under way when the bench was stopped is not waited for.
process.exit()
