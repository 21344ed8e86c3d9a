import { setTimeout as sleep } from 'node:timers/promises'
import type { Appender } from '../model/appender.ts'
import type { PollingReader } from '../model/reader.ts'
import { ask } from '../model/reader.ts'
import type { SteadyWriter } from '../model/steadyWriter.ts'
import type { Watcher } from '../model/watcher.ts'
import { type Random, seeded } from '../support/random.ts'
import { type Fault, type PlanRound, runFaults, type Stage } from './faults.ts'
import type { FaultTable } from './faultTable.ts'
import { type Judged, judge } from './finalCheck.ts'
import type { Fleet } from './fleet.ts'
import type { Followers } from './followers.ts'
import { appendOver, roundOfRecords, steadyTeam } from './rounds.ts'

type Soak = {
  readonly seed: number
  readonly minutes: number
  readonly judged: Judged
  readonly stage: Stage
  readonly planRound: PlanRound
  /** Resolves once no engine is left to recover. */
  untilEnginesWhole(): Promise<void>
  readonly fleet: Fleet
  readonly steady: SteadyWriter
  readonly randomWriter: Appender
  readonly reader: PollingReader
  readonly followers: Followers
  readonly watcher: Watcher
  readonly table: FaultTable
  readonly signal: AbortSignal
  fail(error: unknown): void
  say(line: string): void
}

export type Tally = { rounds: number; faults: number }

/** From the end of the last fault until everything is in the answers again. */
const wholePatienceMs = 120_000
const pollMs = 250
const calmMs = 2_000
/** An indexer holds at most 64 MiB of records under way, and as much again as documents. */
const memoryBoundMiB = 512

/** Rounds of faults and checks until the time is over; what is wrong ends them only where nothing could follow. */
export async function runRounds(tally: Tally, soak: Soak): Promise<void> {
  const endsAtMs = Date.now() + soak.minutes * 60_000
  soak.steady.start(soak.fail)
  await untilWhole(soak)
  while (Date.now() < endsAtMs) {
    const round = tally.rounds + 1
    const random = seeded(soak.seed * 1_000_003 + round)
    const faults = soak.planRound(random)
    await sleep(calmMs, undefined, { signal: soak.signal })
    await runRound(soak, round, faults, random)
    tally.rounds++
    tally.faults += faults.length
  }
  await soak.steady.pause()
}

async function runRound(soak: Soak, round: number, faults: readonly Fault[], random: Random): Promise<void> {
  const { judged, reader, fleet, steady, signal, say } = soak
  const { journal, problems } = judged
  // Without cached answers nobody is led back, whichever node of Elasticsearch fails.
  const keepsAnswers = process.env['ANSWER_CACHE_BYTES'] !== '0'
  reader.beginFaults(keepsAnswers && faults.some(({ target }) => target.startsWith('elasticsearch-')))
  problems.during = `round ${round}: ${faults.map(({ name, afterMs }) => `${name} after ${afterMs} ms`).join(', ')}`
  const drafts = roundOfRecords(soak.seed, round, journal.newest())
  const [told] = await Promise.all([
    runFaults(faults, soak.stage),
    appendOver(soak.randomWriter, drafts, random, signal),
  ])
  const failed = told.find((each) => each.startsWith('rebuild (exit code 1'))
  if (failed !== undefined && faults.every(({ target }) => target === 'rebuild' || target.includes('indexer')))
    await problems.add('rebuild failed', `${failed}, while every engine and every index was there`)
  const overAtMs = Date.now()
  await steady.pause()
  await soak.untilEnginesWhole()
  await untilWhole(soak)
  const wholeMs = Date.now() - overAtMs
  const seen = reader.endFaults()
  soak.table.add(faults, seen)
  await judge(judged, journal.takeChanged(), random)
  await soak.followers.judge(judged)
  const memory = await fleet.memory()
  if (memory.some((each) => each > memoryBoundMiB))
    await problems.add('memory', `an indexer holds ${Math.max(...memory)} MiB, more than ${memoryBoundMiB}`)
  steady.start(soak.fail)
  say(
    [
      `${new Date().toISOString()} seed ${soak.seed} round ${round}: ${told.join('; ')}`,
      `${journal.entries.length} records, ${journal.poison.size} of them poison`,
      `whole after ${(wholeMs / 1_000).toFixed(1)} s`,
      `${seen.answers} answers, ${seen.refusals} times 503, longest gap ${seen.longestGapMs} ms, ` +
        `oldest answer ${seen.oldestMs} ms, ${seen.fallbacks} fallbacks, ${soak.watcher.looks} looks so far`,
      `${problems.found.length} failures so far`,
      `RSS ${memory.join(' + ')} MiB`,
    ].join(' | '),
  )
}

/** Every process is ready, and every API says that everything appended so far is in its answers. */
async function untilWhole({ fleet, judged, signal }: Soak): Promise<void> {
  const lastMs = judged.journal.lastAppendMs()
  const givesUpAtMs = Date.now() + wholePatienceMs
  for (;;) {
    signal.throwIfAborted()
    const watermarks = await Promise.all(
      fleet.apis.map((api) =>
        ask(api, judged.keyOf(steadyTeam), '/api/v1/forms?limit=1').then(
          ({ watermark }) => watermark,
          () => null,
        ),
      ),
    )
    const readiness = await fleet.readiness()
    const isReady = [...readiness.values()].every((each) => each.startsWith('200'))
    if (isReady && watermarks.every((each) => Date.parse(each ?? '') > lastMs)) return
    if (Date.now() > givesUpAtMs) {
      const said = [...readiness].map(([name, each]) => `  ${name}: ${each}`).join('\n')
      const promised = `last append ${new Date(lastMs).toISOString()}, watermarks ${watermarks.join(', ')}`
      await judged.problems.add('not whole', `after ${wholePatienceMs / 1_000} s; ${promised}\n${said}`)
      throw new Error('it does not become whole again')
    }
    await sleep(pollMs)
  }
}
