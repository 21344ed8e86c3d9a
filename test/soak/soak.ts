import { setTimeout as sleep } from 'node:timers/promises'
import type { Appender } from '../model/appender.ts'
import { fetchAnswer, type PollingReader } from '../model/pollingReader.ts'
import type { SteadyWriter } from '../model/steadyWriter.ts'
import type { Watcher } from '../model/watcher.ts'
import { type Random, seeded } from '../support/random.ts'
import type { Fault } from './faults.ts'
import type { FaultTable } from './faultTable.ts'
import { type Judged, judge } from './finalCheck.ts'
import type { Fleet } from './fleet.ts'
import type { Followers } from './followers.ts'
import { appendOver, roundOfRecords, steadyTeam } from './rounds.ts'

type Soak = Judged & {
  readonly seed: number
  readonly minutes: number
  planRound(random: Random): Fault
  /** Resolves once no engine is left to recover. */
  untilEnginesWhole(): Promise<void>
  readonly fleet: Fleet
  readonly steady: SteadyWriter
  readonly randomWriter: Appender
  readonly reader: PollingReader
  readonly followers: Followers
  readonly watcher: Watcher
  readonly table: FaultTable
  fail(error: unknown): void
  say(line: string): void
}

/** From the end of the last fault until everything is in the answers again. */
const wholePatienceMs = 120_000
const pollMs = 250
const calmMs = 2_000
/** An indexer holds at most 64 MiB of records under way, and as much again as documents. */
const memoryBoundMiB = 512

/** Rounds of a fault and checks until the time is over; what is wrong ends them only where nothing could follow. */
export async function runRounds(soak: Soak): Promise<void> {
  const endsAtMs = Date.now() + soak.minutes * 60_000
  soak.steady.start(soak.fail)
  await untilWhole(soak)
  for (let round = 1; Date.now() < endsAtMs; round++) {
    const random = seeded(soak.seed * 1_000_003 + round)
    const fault = soak.planRound(random)
    await sleep(calmMs, undefined, { signal: soak.signal })
    await runRound(soak, round, fault, random)
  }
  await soak.steady.pause()
}

async function runRound(soak: Soak, round: number, fault: Fault, random: Random): Promise<void> {
  const { journal, problems, reader, fleet, steady, signal, say } = soak
  reader.beginFaults()
  problems.during = `round ${round}: ${fault.name}`
  const drafts = roundOfRecords(soak.seed, round, journal.newest())
  const running = [fault.run(signal), appendOver(soak.randomWriter, drafts, random, signal)]
  await Promise.allSettled(running)
  await Promise.all(running)
  const overAtMs = Date.now()
  await steady.pause()
  await soak.untilEnginesWhole()
  await untilWhole(soak)
  const wholeMs = Date.now() - overAtMs
  const seen = reader.endFaults()
  soak.table.add(fault, seen)
  await judge(soak, journal.takeChanged(), random)
  await soak.followers.judge(soak)
  const memory = await fleet.memory()
  if (memory.some((each) => each > memoryBoundMiB))
    await problems.add('memory', `an indexer holds ${Math.max(...memory)} MiB, more than ${memoryBoundMiB}`)
  steady.start(soak.fail)
  say(
    [
      `${new Date().toISOString()} seed ${soak.seed} round ${round}: ${fault.name}`,
      `${journal.entries.length} records, ${journal.deadLetters.size} of them dead letters`,
      `whole after ${(wholeMs / 1_000).toFixed(1)} s`,
      `${seen.answers} answers, ${seen.refusals} times 503, longest gap ${seen.longestGapMs} ms, ` +
        `oldest answer ${seen.oldestMs} ms, ${soak.watcher.looks} looks so far`,
      `${problems.found.length} failures so far`,
      `RSS ${memory.join(' + ')} MiB`,
    ].join(' | '),
  )
}

/** Every process is ready, and every API says that everything appended so far is in its answers. */
async function untilWhole({ fleet, journal, problems, keyOf, signal }: Soak): Promise<void> {
  const lastMs = journal.lastAppendMs()
  const givesUpAtMs = Date.now() + wholePatienceMs
  for (;;) {
    signal.throwIfAborted()
    const watermarks = await Promise.all(
      fleet.apis.map((api) =>
        fetchAnswer(api, keyOf(steadyTeam), '/api/v1/forms?limit=1').then(
          ({ watermark }) => watermark,
          () => null,
        ),
      ),
    )
    const unready = await fleet.unready()
    if (unready.length === 0 && watermarks.every((each) => Date.parse(each ?? '') > lastMs)) return
    if (Date.now() > givesUpAtMs) {
      const promised = `last append ${new Date(lastMs).toISOString()}, watermarks ${watermarks.join(', ')}`
      await problems.add('not whole', `after ${wholePatienceMs / 1_000} s; ${[promised, ...unready].join('\n  ')}`)
      throw new Error('it does not become whole again')
    }
    await sleep(pollMs)
  }
}
