import { pause, waitUntil } from '../../engines/waiting.ts'
import { type Replica, whileAppending } from '../replica.ts'
import type { Stage } from '../stage.ts'
import { mixedFeed } from './entities.ts'
import { countWrites, type Differences, differencesOf, isSame, readState, type State } from './state.ts'
import type { Run, Running, Writer } from './writers.ts'

export type KillSize = { readonly records: number; readonly kills: number; readonly perSecond: number }

/** Kafka gives the partitions of a killed consumer to the next one when its session has ended, after 45 s by default. */
const startDeadlineMs = 150_000
/** From the first write after a start to the kill. */
const writingMs = 1_000
/** A writer that has written nothing for so long has finished: with all documents as wanted, or with differences. */
const quietMs = { same: 3_000, different: 20_000 }
const settleDeadlineMs = 600_000

/**
 * How the documents differ from the topic after a writer was killed while records flow. `standstillsMs`: from each kill, and restart, to the next write.
 */
export async function measureKills(
  stage: Stage,
  [writer, run, append]: readonly [Writer, Run, Replica['append']],
  { records, kills, perSecond }: KillSize,
  hasDeletions: boolean,
): Promise<Differences & { readonly standstillsMs: readonly number[] }> {
  const { changes, wanted } = mixedFeed(run.topic, records, hasDeletions)
  const index = writer.index(run)
  let appended = 0
  const appendDue = async (due: number): Promise<void> => {
    const next = changes.slice(appended, appended + due)
    appended += due
    if (next.length > 0) await append(run.topic, next)
  }
  await writer.prepare(run)
  let running = await writer.start(run)
  const standstillsMs: number[] = []
  await whileAppending(appendDue, perSecond, stage.signal, async (signal) => {
    await untilWriting(stage, index, running)
    while (standstillsMs.length < kills) {
      await pause(writingMs, signal)
      await running.kill()
      const killedMs = performance.now()
      running = await writer.start(run)
      await untilWriting(stage, index, running)
      standstillsMs.push(performance.now() - killedMs)
    }
    const isAppended = async (): Promise<boolean> => appended >= records
    if (!(await waitUntil(isAppended, { deadlineMs: settleDeadlineMs, signal })))
      throw new Error(`only ${appended} of ${records} records were appended`)
  })
  const state = await settledState(stage, index, running, wanted)
  await running.stop()
  return { ...differencesOf(state, wanted), standstillsMs }
}

export async function untilWriting(stage: Stage, index: string, running: Running): Promise<void> {
  const before = await countWrites(stage, index)
  const isWriting = async (): Promise<boolean> => {
    await running.expectRunning()
    return (await countWrites(stage, index)) > before
  }
  if (!(await waitUntil(isWriting, { deadlineMs: startDeadlineMs, signal: stage.signal })))
    throw new Error(`${index} gets no write within ${startDeadlineMs / 1_000} s`)
}

/** Resolves when the state is the wanted one, or when nothing has been written for a while. */
export async function settledState(stage: Stage, index: string, running: Running, wanted: State): Promise<State> {
  let [state, writes, quietSinceMs] = [new Map() as State, -1, performance.now()]
  const isSettled = async (): Promise<boolean> => {
    await running.expectRunning()
    const count = await countWrites(stage, index)
    if (count !== writes) quietSinceMs = performance.now()
    writes = count
    const isQuiet = performance.now() - quietSinceMs > quietMs.same
    // Reads all documents: rarely, and not beside writes.
    if (!isQuiet) return false
    state = await readState(stage, index)
    if (isSame(differencesOf(state, wanted)) || performance.now() - quietSinceMs > quietMs.different) return true
    await pause(quietMs.same, stage.signal)
    return false
  }
  if (!(await waitUntil(isSettled, { deadlineMs: settleDeadlineMs, signal: stage.signal })))
    throw new Error(`${index} does not settle within ${settleDeadlineMs / 1_000} s`)
  return state
}
