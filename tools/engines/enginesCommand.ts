import { once } from 'node:events'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import {
  type Cluster,
  type Engines,
  externalEngines,
  failWhenEngineEnds,
  startCluster,
  startEngines,
} from './engines.ts'
import { runInForeground } from './foreground.ts'

type Flags = { clean?: true; nodes: '1' | '3'; folder: string; distributions?: string }

export const command = new Command()
  .option('--clean', 'start empty')
  .addOption(
    new Option('--nodes <number>', 'of Elasticsearch and Kafka; with 3, Redis has a replica and three Sentinels')
      .choices(['1', '3'])
      .default('1'),
  )
  .option('--folder <path>', 'holds data, logs and engines.env', fileURLToPath(new URL('../../var', import.meta.url)))
  .option('--distributions <path>', 'where the engines are unpacked (default: engines in the folder)')
  .action((flags: Flags) => runInForeground((stopped) => run(flags, stopped)))

async function run(flags: Flags, stopped: AbortSignal): Promise<void> {
  const { nodes, clean = false, ...folders } = flags
  const options = { ...folders, clean, quick: false, progress: process.stderr, signal: stopped }
  const engines: Engines | Cluster =
    nodes === '3'
      ? await startCluster(options)
      : await startEngines({ ...options, external: externalEngines(process.env) })
  try {
    process.stdout.write(describe(engines, flags.folder))
    if (!stopped.aborted) await Promise.race([once(stopped, 'abort'), failWhenEngineEnds(engines)])
  } finally {
    await engines.stop()
  }
}

const describe = ({ urls, started }: Engines | Cluster, folder: string): string => {
  const elsewhere = started
    .filter(({ dataFolder }) => !dataFolder.startsWith(resolve(folder)))
    .map(
      ({ name, dataFolder }) => `${name} keeps its data in ${dataFolder}: the user it runs as cannot enter ${folder}.`,
    )
  const variables = Object.entries(urls).map(([name, value]) => `  ${name}=${value}`)
  return ['All engines answer:', ...variables, ...elsewhere, 'Ctrl-C stops them.', ''].join('\n')
}
