import './world/virtualGlobals.ts'
import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Command, InvalidArgumentError } from 'commander'
import { reportTo } from '../../src/core/process/progressBar.ts'
import type { Theme } from './history.ts'
import type { Mutant } from './mutants/mutants.ts'
import { expectPlanted, plantMutant } from './mutants/plant.ts'

const program = new URL('../../bin/tidemark.ts', import.meta.url)
const shrinkRuns = 150
const defaultSeeds = 2_000
const tracedLines = 60
/** The code under test creates many expected errors, whose stacks would take a tenth of the time. */
Error.stackTraceLimit = 0
const shownStackLines = 10

type Options = {
  readonly seed?: number
  readonly seeds: number
  readonly first: number
  readonly processes: number
  readonly events?: readonly number[]
  readonly theme?: readonly Theme[]
  readonly mutant?: string
  readonly trace?: boolean
  readonly digests?: boolean
}

/** A child process's report on one seed. */
type SeedReport = {
  readonly seed: number
  readonly digest: string | undefined
  readonly violation: string | undefined
  readonly neededRebuild: boolean
}

export const command = new Command()
  .option(
    '--seed <number>',
    'run the history of one seed; when it breaks an invariant, print a shorter one that does, and its trace',
    number,
  )
  .option('--seeds <count>', 'how many seeds to run', number, defaultSeeds)
  .option('--first <number>', 'the first of these seeds', number, 1)
  .option('--processes <number>', 'in how many processes', number, availableParallelism())
  .option('--events <numbers>', 'with --seed: only these events of its history', (text) => text.split(',').map(number))
  .option('--theme <names>', 'only histories with these themes', (text) => text.split(',') as Theme[])
  .option('--mutant <name>', 'plant a fault in the product first; its histories have its themes')
  .option('--trace', 'with --seed: print the trace in any case')
  .option('--digests', 'print the digest of each trace')
  .action(async (options: Options) => {
    const mutant = options.mutant === undefined ? undefined : plantMutant(options.mutant)
    const themes = options.theme ?? mutant?.themes
    const load = (): Promise<Simulation> => loadSimulation(mutant, themes)
    if (process.send !== undefined) await runShare(options, await load())
    else if (options.seed === undefined) await runMany(options)
    else await runOne(options.seed, options, await load())
  })

/** Runs every n-th seed of `processes`, and reports each to the parent. */
async function runShare({ first, seeds, processes, digests }: Options, simulation: Simulation): Promise<void> {
  const { historyOf, runHistory } = simulation
  for (let seed = first; seed < first + seeds; seed += processes) {
    const { trace, violation, neededRebuild } = await runHistory(historyOf(seed))
    const digest = digests ? digestOf(trace) : undefined
    const message: SeedReport = { seed, digest, violation: violation?.text, neededRebuild }
    process.send?.(message)
  }
  process.disconnect()
}

/** The command that runs a seed again. With other themes, or without the fault, a seed draws another history. */
const replayOf = (seed: number, { theme, mutant }: Options, events = ''): string =>
  [
    `npm run simulate -- --seed ${seed}`,
    ...(theme === undefined ? [] : [`--theme ${theme.join(',')}`]),
    ...(mutant === undefined ? [] : [`--mutant ${mutant}`]),
    ...(events === '' ? [] : [`--events ${events}`]),
  ].join(' ')

async function runMany(options: Options): Promise<void> {
  const { first, seeds, processes, digests, mutant } = options
  const startedMs = performance.now()
  const report = reportTo(process.stderr)
  const broken: SeedReport[] = []
  const traces = new Map<number, string | undefined>()
  let done = 0
  const children = Array.from({ length: Math.min(processes, seeds) }, (_, at) => {
    const share = ['--first', first + at, '--seeds', seeds - at, '--processes', Math.min(processes, seeds)]
    const child = fork(program, [...process.argv.slice(2), ...share.map(String)])
    child.on('message', (message: SeedReport) => {
      report.progress('seeds', ++done, seeds)
      traces.set(message.seed, message.digest)
      if (message.neededRebuild)
        process.stdout.write(
          `seed ${message.seed} needed a rebuild: a log counts as replaced after a broker's clock went back\n`,
        )
      if (message.violation === undefined) return
      broken.push(message)
      process.stdout.write(`seed ${message.seed} breaks: ${message.violation}\n`)
      // A mutant is found by its first history.
      if (mutant !== undefined) for (const other of children) other.kill('SIGKILL')
    })
    return child
  })
  const codes = await Promise.all(
    children.map((child) => new Promise<number | null>((resolve) => child.once('exit', resolve))),
  )
  report.end()
  if (digests)
    for (const [seed, digest] of [...traces].sort(([a], [b]) => a - b)) process.stdout.write(`${seed} ${digest}\n`)
  const seconds = Math.round((performance.now() - startedMs) / 1_000)
  process.stdout.write(`${done} seeds in ${seconds} s, ${broken.length} broken\n`)
  const [firstBroken] = broken
  if (firstBroken !== undefined)
    process.stdout.write(`again, shorter and with its trace: ${replayOf(firstBroken.seed, options)}\n`)
  const isIncomplete = mutant === undefined && (done < seeds || codes.some((code) => code !== 0))
  process.exitCode = broken.length > 0 || isIncomplete ? 1 : 0
}

async function runOne(seed: number, options: Options, simulation: Simulation): Promise<void> {
  const { events, trace, digests } = options
  const { historyOf, runHistory, shrink, eventNumbers } = simulation
  const whole = historyOf(seed)
  const history = events === undefined ? whole : { ...whole, events: events.flatMap((at) => whole.events[at] ?? []) }
  const outcome = await runHistory(history)
  const isShrunk = outcome.violation !== undefined && events === undefined
  const smallest = isShrunk ? await shrink(outcome, shrinkRuns) : outcome
  Error.stackTraceLimit = shownStackLines
  const shown = outcome.violation === undefined ? outcome : await runHistory(smallest.history)
  const lines = shown.trace
  if (trace) process.stdout.write(`${lines.join('\n')}\n`)
  else if (shown.violation !== undefined) process.stdout.write(`${lines.slice(-tracedLines).join('\n')}\n`)
  if (digests) process.stdout.write(`${seed} ${digestOf(outcome.trace)}\n`)
  process.stdout.write(`seed ${seed}: ${whole.themes.join(', ')}; ${whole.events.length} events\n`)
  if (outcome.violation === undefined) return
  process.stdout.write(`breaks: ${shown.violation?.text}\n`)
  const left = eventNumbers(whole, shown.history).join(',')
  if (isShrunk) process.stdout.write(`again, with the whole trace: ${replayOf(seed, options, left)} --trace\n`)
  process.exitCode = 1
}

type Simulation = Awaited<ReturnType<typeof loadSimulation>>

/** Imports the simulation; call it after planting the mutant. */
async function loadSimulation(mutant: Mutant | undefined, themes: readonly Theme[] | undefined) {
  const [{ historyOf }, { runHistory }, { shrink, eventNumbers }] = await Promise.all([
    import('./history.ts'),
    import('./runHistory.ts'),
    import('./shrink.ts'),
  ])
  if (mutant !== undefined) expectPlanted(mutant)
  return { historyOf: (seed: number) => historyOf(seed, themes), runHistory, shrink, eventNumbers }
}

/** The SHA-256 of a trace. */
function digestOf(trace: readonly string[]): string {
  return createHash('sha256').update(trace.join('\n')).digest('hex')
}

function number(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError('It must be an integer.')
  return Number(text)
}
