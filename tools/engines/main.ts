/** `npm run engines`: Elasticsearch, Kafka and Redis on loopback, in the foreground, until it is stopped. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { type Engines, engineNames, givenEngines, PrerequisitesMissing, startEngines } from './engines.ts'
import { watchParent } from './parent.ts'
import { progressView } from './progress.ts'

type Flags = { clean?: true; folder: string; distributions?: string }

const command = new Command('engines')
  .description('Runs Elasticsearch, Kafka and Redis on loopback until it is stopped.')
  .option('--clean', 'start empty')
  .option('--folder <path>', 'holds data, logs and engines.env', fileURLToPath(new URL('../../var', import.meta.url)))
  .option('--distributions <path>', 'where what is fetched is unpacked (default: engines in the folder)')

const run = async (flags: Flags, stopped: AbortSignal): Promise<void> => {
  const view = progressView(process.stderr)
  const engines = await startEngines({
    ...flags,
    clean: flags.clean ?? false,
    quick: false,
    given: givenEngines(process.env),
    report: view.report,
    signal: stopped,
  }).finally(view.end)
  try {
    process.stdout.write(describe(engines, flags.folder))
    await untilOver(engines, stopped)
  } finally {
    await engines.stop()
  }
}

/** Returns when it is told to stop; rejects when an engine ends by itself. */
const untilOver = async (engines: Engines, stopped: AbortSignal): Promise<void> => {
  const told = new Promise<void>((resolve) => {
    stopped.addEventListener('abort', () => resolve())
    if (stopped.aborted) resolve()
  })
  const lost = startedOf(engines).map(async ({ name, logPath, ended }) => {
    const how = await ended()
    if (!stopped.aborted) throw new Error(`${name} ${how}; its log is ${logPath}`)
  })
  await Promise.race([told, ...lost])
}

const startedOf = (engines: Engines) => engineNames.flatMap((name) => engines[name] ?? [])

const describe = (engines: Engines, folder: string): string => {
  const urls = Object.entries(engines.urls).map(([name, value]) => `  ${name}=${value}`)
  const elsewhere = startedOf(engines)
    .filter(({ dataFolder }) => !dataFolder.startsWith(resolve(folder)))
    .map(
      ({ name, dataFolder }) => `${name} keeps its data in ${dataFolder}: the user it runs as cannot enter ${folder}.`,
    )
  return ['All engines answer:', ...urls, ...elsewhere, 'Ctrl-C stops them.', ''].join('\n')
}

const exitCodeOf = (error: unknown): number => (error instanceof PrerequisitesMissing ? error.exitCode : 1)

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
// Whoever read the output may be gone; that alone is no reason to stop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
watchParent(() => stop.abort())

await run(command.parse().opts<Flags>(), stop.signal).catch((error: unknown) => {
  if (stop.signal.aborted && error === stop.signal.reason) return
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = exitCodeOf(error)
})
