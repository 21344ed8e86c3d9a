import { pause } from '../../engines/waiting.ts'
import { appendAll, type Change, type Replica } from '../replica.ts'
import type { Stage } from '../stage.ts'
import { type Entity, entityMaker, updatedAtOf } from './entities.ts'
import { settledState } from './kills.ts'
import { readKeys, readState, type State } from './state.ts'
import type { Run, Running, Writer } from './writers.ts'

/** `others`: records between the old and the new ones that come again after a kill. `downMs`: from the kill to the restart. */
export type OrderSize = { readonly of: number; readonly others: number; readonly downMs: number }

/** Numbers of submissions, `of` in each group. */
export type Order = {
  /** Deleted, and still found. */
  readonly undeleted: number
  /** Deleted, then an older record came: found again. */
  readonly resurrected: number
  /** An older record came after a newer one, and is found. */
  readonly overwritten: number
  /** Created, deleted and created anew by records that follow each other, and not found, without any kill. */
  readonly lostBefore: number
  /** While the records since the last commit came again: found with an older value, or although deleted. */
  readonly olderForAWhile: number
  readonly undeletedForAWhile: number
  /** Afterwards: deleted, and found; created anew after a deletion, and not found. */
  readonly undeletedAfter: number
  readonly lostAfter: number
}

type Job = {
  readonly stage: Stage
  readonly writer: Writer
  readonly run: Run
  readonly append: (changes: readonly Change[]) => Promise<void>
}

const pollMs = 20

export async function measureOrder(
  stage: Stage,
  [writer, run, appendTo]: readonly [Writer, Run, Replica['append']],
  size: OrderSize,
): Promise<Order> {
  const append = (changes: readonly Change[]): Promise<void> =>
    appendAll(changes, changes.length, (some) => appendTo(run.topic, some), stage.signal)
  const job = { stage, writer, run, append }
  const make = entityMaker(run.topic)
  const several = (count: number): Entity[] => Array.from({ length: count }, make)
  await writer.prepare(run)
  const running = await writer.start(run)
  const late = await measureLate(job, running, [several(size.of), several(size.of)])
  // Commits the offsets.
  await running.stop()
  const groups = { updated: several(size.of), deleted: several(size.of), anew: several(size.of) }
  return { ...late, ...(await measureRedelivery(job, groups, several(size.others), size.downMs)) }
}

const recordsOf = (entities: readonly Entity[], revision: number): Change[] =>
  entities.map((entity) => entity.record(revision))
const deletionsOf = (entities: readonly Entity[]): Change[] => entities.map(({ deletion }) => deletion)
const stateOf = (entities: readonly Entity[], revision: number): State =>
  new Map(entities.map(({ key }) => [key, updatedAtOf(revision)]))

async function measureLate(
  { stage, writer, run, append }: Job,
  running: Running,
  [deleted, updated]: readonly [readonly Entity[], readonly Entity[]],
): Promise<Pick<Order, 'undeleted' | 'resurrected' | 'overwritten'>> {
  const index = writer.index(run)
  await append([...recordsOf(deleted, 2), ...recordsOf(updated, 2)])
  await settledState(stage, index, running, new Map([...stateOf(deleted, 2), ...stateOf(updated, 2)]))
  await append([...deletionsOf(deleted), ...recordsOf(updated, 3)])
  const wanted = stateOf(updated, 3)
  const afterDeletions = await settledState(stage, index, running, wanted)
  await append([...recordsOf(deleted, 1), ...recordsOf(updated, 1)])
  // A late record that Elasticsearch refuses leaves no trace to wait for.
  await pause(lateMs, stage.signal)
  const afterLate = await settledState(stage, index, running, wanted)
  return {
    undeleted: deleted.filter(({ key }) => afterDeletions.has(key)).length,
    resurrected: deleted.filter(({ key }) => afterLate.has(key)).length,
    overwritten: updated.filter(({ key }) => afterLate.get(key) !== wanted.get(key)).length,
  }
}

const lateMs = 5_000

type Groups = Readonly<Record<'updated' | 'deleted' | 'anew', readonly Entity[]>>

async function measureRedelivery(
  { stage, writer, run, append }: Job,
  { updated, deleted, anew }: Groups,
  others: readonly Entity[],
  downMs: number,
): Promise<Omit<Order, 'undeleted' | 'resurrected' | 'overwritten'>> {
  const index = writer.index(run)
  const running = await writer.start(run)
  // Tasks that join one after the other make Kafka rebalance, and a rebalance commits: that is over before the records that are to come again.
  await pause(startMs, stage.signal)
  await append([...updated, ...deleted, ...anew].map((entity) => entity.record(1)))
  await append(recordsOf(others, 1))
  await append([...recordsOf(updated, 2), ...deletionsOf(deleted), ...deletionsOf(anew), ...recordsOf(anew, 3)])
  await untilFound(stage, index, updated, 2)
  await pause(otherPartitionsMs, stage.signal)
  const before = await readState(stage, index)
  await running.kill()
  await pause(downMs, stage.signal)
  const restarted = await writer.start(run)
  const watching = new AbortController()
  const settle = async (): Promise<State> => {
    await pause(startMs, stage.signal)
    const quiet = await settledState(stage, index, restarted, new Map())
    watching.abort()
    return quiet
  }
  const watched = [...updated, ...deleted].map(({ key }) => key)
  const [state, seen] = await Promise.all([settle(), watch(stage, index, watched, watching.signal)])
  await restarted.stop()
  return {
    lostBefore: anew.filter(({ key }) => !before.has(key)).length,
    olderForAWhile: updated.filter(({ key }) => seen.has(`${key} ${updatedAtOf(1)}`)).length,
    undeletedForAWhile: deleted.filter(({ key }) => seen.has(`${key} ${updatedAtOf(1)}`)).length,
    undeletedAfter: deleted.filter(({ key }) => state.has(key)).length,
    lostAfter: anew.filter(({ key }) => !state.has(key)).length,
  }
}

/** Resolves, when `over` aborts, with every `<key> <time of the last update>` that was found. */
async function watch(
  stage: Stage,
  index: string,
  keys: readonly string[],
  over: AbortSignal,
): Promise<ReadonlySet<string>> {
  const seen = new Set<string>()
  while (!over.aborted) {
    for (const [key, updatedAt] of await readKeys(stage, index, keys)) seen.add(`${key} ${updatedAt}`)
    await pause(pollMs, stage.signal)
  }
  return seen
}

const startMs = 20_000
const otherPartitionsMs = 3_000

async function untilFound(stage: Stage, index: string, entities: readonly Entity[], revision: number): Promise<void> {
  const keys = entities.map(({ key }) => key)
  const endMs = performance.now() + foundDeadlineMs
  for (;;) {
    const found = await readKeys(stage, index, keys)
    if (keys.every((key) => found.get(key) === updatedAtOf(revision))) return
    if (performance.now() > endMs) throw new Error(`${index} does not show all submissions`)
    await pause(pollMs, stage.signal)
  }
}

const foundDeadlineMs = 300_000
