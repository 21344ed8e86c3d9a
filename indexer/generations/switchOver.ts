import type { EntityType } from '../../src/core/model/ids.ts'
import { readServing } from '../../src/core/redis/serving.ts'
import { type SwitchResult, switchServing } from '../../src/core/redis/switchServing.ts'
import { knowsDeletions, newCursorKey } from '../../src/core/redis/visiblePositions.ts'
import { until } from '../backoff.ts'
import type { CommandTools } from '../engineCommand.ts'
import { refreshEveryCopy } from '../refreshEveryCopy.ts'
import { entityTypeIn } from '../topics.ts'
import { finishSwitch } from './finishSwitch.ts'
import type { ForgottenEntities } from './forgottenEntities.ts'
import type { FormerDeadLetters } from './formerDeadLetters.ts'
import type { Generation } from './generation.ts'
import type { Generations } from './generations.ts'
import { generationsOf, type RebuildPipeline } from './rebuildPipeline.ts'
import type { Reconciliation } from './reconciliation.ts'
import { SwitchLock } from './switchLock.ts'

/** Of each request to Elasticsearch; shorter than the life of the lock. */
const switchTimeoutMs = 5_000
const passesDeadlineMs = 5_000
const aliasesDeadlineMs = 60_000
const aliasesPollMs = 1_000

type SwitchParts = {
  readonly tools: CommandTools
  readonly holder: string
  readonly pipeline: RebuildPipeline
  readonly reconciliation: Reconciliation
  readonly forgottenEntities: ForgottenEntities
  readonly formerDeadLetters: FormerDeadLetters
}

/**
 * Switches readers from the serving generation to the new one. If a step before the script in Redis fails, indexers resume publishing positions of the serving
 * generation.
 *
 * No record is missed: until the switch, live indexers write to the old generation; afterwards to the new one, from the rebuild's commits or below.
 */
export async function switchOver(parts: SwitchParts): Promise<void> {
  const { tools, holder, pipeline, reconciliation, forgottenEntities, formerDeadLetters } = parts
  const { elasticsearch, redis, report, clock, signal } = tools
  const { from: serving, to: target } = reconciliation
  const generations = generationsOf(tools, switchTimeoutMs)
  await pipeline.expectUndisturbed()
  // The first wait may be long: so it is before the lock.
  await pipeline.untilRejectedAreCommitted(serving, pipeline.whileUndisturbed())
  // 1. From now on, only new list versions of the serving generation are published: its watermark and positions stand still.
  const lock = await SwitchLock.acquire(redis, holder)
  report.step('switching')
  try {
    // 2. Reads to the present ends of the topics: no published position of the serving generation is above them.
    const visible = await pipeline.readToTheEnd(lock.limit())
    const mayLackDeletions = pipeline.mayLackDeletions()
    await pipeline.untilRejectedAreCommitted(serving, lock.limit())
    const tombstoneCount = await forgottenEntities.drop(reconciliation.copier, clock(), lock)
    // 3. Stops the pipeline: a write after the switch would become visible without a new list version.
    if (!(await pipeline.stop())) throw new Error('the new generation is not written in time: run the rebuild again')
    // 4. Copies what was written to the serving generation until now, and makes it searchable.
    await passUntilCompared(tools, reconciliation, lock)
    await refreshEveryCopy(elasticsearch, Object.values(target.indices), { signal, requestTimeout: switchTimeoutMs })
    await lock.extend()
    // 5. Followers have passed the positions of states that were dead letters until now, and would never get them: step 6 makes followers start anew.
    await formerDeadLetters.compare(visible, lock)
    const formerLetterCount = await formerDeadLetters.count(lock)
    // 6. Decides whether the cursors of followers stay valid.
    await pipeline.expectStillOwned()
    if ((await generations.serving())?.tag !== serving.tag)
      throw new Error(`generation ${serving.number} does not serve any more: run the rebuild again`)
    const hasMissed = tombstoneCount > 0 || formerLetterCount > 0
    const cursorKeys = await storeCursorKeys(tools, generations, reconciliation, hasMissed)
    // 7. One script switches and releases the lock: the next request of each reader searches the new generation.
    const switched = await switchServing(redis, {
      holder,
      from: serving.tag,
      to: target,
      cursorKeys,
      replaced: reconciliation.replaced,
      mayLackDeletions,
      reached: visible.map(({ topic, ...partition }) => ({ ...partition, type: entityTypeIn(topic, tools.config) })),
    })
    if (switched.kind !== 'switched') throw new Error(`${reasonOf(switched)}: run the rebuild again`)
    if (formerLetterCount > 0)
      report.step(
        `${formerLetterCount} entities have states that were dead letters until now: followers of changes start anew`,
      )
  } finally {
    await lock.release()
  }
  report.step(`generation ${target.number} serves`)
  // 8. If this process dies first, an indexer or the next rebuild moves the aliases.
  await moveAliases(tools, target)
}

/**
 * Repeats passes until they have compared every write that had started when the first one began. The first may not be enough: a pass leaves out writes that a
 * copy of the shard does not have yet.
 */
async function passUntilCompared(
  { signal }: CommandTools,
  reconciliation: Reconciliation,
  lock: SwitchLock,
): Promise<void> {
  await lock.extend()
  await reconciliation.pass()
  const writes = reconciliation.startedWrites
  const hasCompared = async (): Promise<boolean> => {
    await lock.extend()
    if (reconciliation.hasCompared(writes)) return true
    await reconciliation.pass()
    return false
  }
  if (!(await until(hasCompared, passesDeadlineMs, signal)))
    throw new Error('copies of the old generation lack what others have: run the rebuild again')
}

/**
 * Stores, for each type, the key that seals cursors: that of the old generation, with which followers go on, or a new one, which refuses their cursors, so that
 * they start anew. A new one is necessary if
 * - `hasMissed`: followers lack a deletion, or a state at a position that they have passed;
 * - the old generation may have missed a deletion (`knowsDeletions`);
 * - a log was replaced: the cursors have positions of the former log.
 */
async function storeCursorKeys(
  { redis }: CommandTools,
  generations: Generations,
  { from, to, replaced }: Reconciliation,
  hasMissed: boolean,
): Promise<Generation['cursorKeys']> {
  const goesOn = !hasMissed && replaced.size === 0 && (await knowsDeletions(redis, from.tag))
  // Not the keys in the new indices: a killed rebuild may have replaced them by those of the old generation.
  const cursorKeys = goesOn ? from.cursorKeys : { forms: newCursorKey(), submissions: newCursorKey() }
  const isCarriedOver = (type: EntityType): boolean => from.hasCarriedOver[type] || replaced.has(type)
  const hasCarriedOver = { forms: isCarriedOver('forms'), submissions: isCarriedOver('submissions') }
  await generations.storeMeta(to, { cursorKeys, hasCarriedOver })
  return cursorKeys
}

function reasonOf(result: Exclude<SwitchResult, { readonly kind: 'switched' }>): string {
  switch (result.kind) {
    case 'lock lost':
      return 'the lock of the switch has expired'
    case 'another serves':
      return `generation ${result.serving} serves, and the new one was not compared with it`
    case 'behind':
      return `the new generation shows less of partition ${result.partition} of ${result.type} than the one that serves`
  }
}

async function moveAliases(tools: CommandTools, target: Generation): Promise<void> {
  const { redis, log, signal } = tools
  const generations = generationsOf(tools, switchTimeoutMs)
  const haveMoved = async (): Promise<boolean> => {
    try {
      const present = await finishSwitch(generations, await readServing(redis))
      return present.some(({ complete }) => complete?.tag === target.tag && complete.isServing)
    } catch (err) {
      // Requests search the new generation already, since Redis names it.
      log.warn({ err }, 'the aliases were not moved')
      return false
    }
  }
  if (!(await until(haveMoved, aliasesDeadlineMs, signal, aliasesPollMs)))
    throw new Error(`the aliases do not name generation ${target.number}: run the rebuild again`)
}
