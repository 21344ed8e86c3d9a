/** `npm run demo`: engines, sample teams, indexer, API and settings area, until it is stopped. */
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { watchParent } from '../engines/parent.ts'
import { type DemoOptions, runDemo } from './run.ts'

const integer =
  (lowest: number, highest: number) =>
  (text: string): number => {
    const number = Number(text)
    if (/^\d+$/.test(text) && number >= lowest && number <= highest) return number
    throw new InvalidArgumentError(`It must be an integer from ${lowest} to ${highest}.`)
  }

const command = new Command('demo')
  .description('Runs real engines, sample teams, the indexer, the API and the settings area until it is stopped.')
  .option('--submissions <number>', 'how many submissions to begin with', integer(1, 10_000_000), 5_000)
  .option('--port <number>', "the API's port (default: 3000, or another one where that is taken)", integer(1, 65_535))
  .option('--folder <path>', 'holds data, logs and demo.json', fileURLToPath(new URL('../../var', import.meta.url)))
  .option('--distributions <path>', 'where engines are unpacked (default: engines in the folder)')

const exitCodeOf = (error: unknown): number => {
  const { exitCode } = error as { exitCode?: unknown }
  return typeof exitCode === 'number' ? exitCode : 1
}

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
// Whoever read the output may be gone; that alone is no reason to stop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
watchParent(() => stop.abort())

await runDemo(command.parse().opts<DemoOptions>(), stop.signal).catch((error: unknown) => {
  if (stop.signal.aborted && error === stop.signal.reason) return
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = exitCodeOf(error)
})
// A request that was under way when the demo was stopped is not waited for.
process.exit()
