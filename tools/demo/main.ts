/** `npm run demo`: engines, sample teams, indexer, API and settings area, until it is stopped. */
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { runInForeground } from '../engines/foreground.ts'
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
  .option('--distributions <path>', 'where the engines are unpacked (default: engines in the folder)')

await runInForeground((stopped) => runDemo(command.parse().opts<DemoOptions>(), stopped))
// A request that was under way when the demo was stopped is not waited for.
process.exit()
