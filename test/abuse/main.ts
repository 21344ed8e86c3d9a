/** `npm run abuse`: hostile clients against an API process on real engines; what it cost, and whether anybody else felt it. */
import { Command, InvalidArgumentError } from 'commander'
import { startOwnEngines } from '../support/ownEngines.ts'
import { killPrograms } from '../support/programs.ts'
import { type Damage, harmDone, openStage } from './attack.ts'
import { scenarios } from './scenarios.ts'

const mebibyte = 1024 * 1024

const positive = (text: string): number => {
  if (!(Number(text) >= 1)) throw new InvalidArgumentError('must be 1 or more')
  return Number(text)
}
const { times } = new Command('abuse')
  .description('hostile clients against an API process: each attack once, and again so many times as large')
  .option('--times <number>', 'how many times as large', positive, 10)
  .allowExcessArguments(false)
  .parse()
  .opts<{ times: number }>()

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
const row = ({ scenario, outcome, seconds, peakBytes, bystander }: Damage, factor: number): string =>
  [
    `${scenario.name} × ${factor}`,
    Object.entries(outcome)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', '),
    seconds.toFixed(1),
    (peakBytes / mebibyte).toFixed(0),
    Object.entries(bystander.statuses)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', '),
    bystander.p50Ms.toFixed(1),
    bystander.p99Ms.toFixed(1),
  ].join(' | ')

say('starting the engines')
const engines = await startOwnEngines()
const harm: string[] = []
try {
  const stage = await openStage()
  say('| attack | answers | seconds | peak MiB | another team | its p50 ms | its p99 ms |')
  say('|---|---|---:|---:|---|---:|---:|')
  for (const factor of [1, times]) {
    for (const scenario of scenarios) {
      const damage = await stage.attack(scenario, factor)
      say(`| ${row(damage, factor)} |`)
      harm.push(...harmDone(damage).map((each) => `${scenario.name} × ${factor}: ${each}`))
    }
  }
  await stage.close()
} finally {
  killPrograms()
  await engines.stop()
}
for (const each of harm) say(`harm: ${each}`)
process.exitCode = harm.length === 0 ? 0 : 1
