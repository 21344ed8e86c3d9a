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

export const command = new Command()
  .option('--submissions <number>', 'how many submissions to begin with', integer(1, 10_000_000), 5_000)
  .option('--port <number>', "the API's port (default: 3000, or another one where that is taken)", integer(1, 65_535))
  .option('--folder <path>', 'holds data, logs and demo.json', fileURLToPath(new URL('../../var', import.meta.url)))
  .option('--distributions <path>', 'where the engines are unpacked (default: engines in the folder)')
  .action(async (options: DemoOptions) => {
    await runInForeground((stopped) => runDemo(options, stopped))
    // Ends without waiting for requests in flight.
    process.exit()
  })
