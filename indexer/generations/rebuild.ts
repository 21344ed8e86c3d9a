import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import type { EntityType } from '../../src/core/model/ids.ts'
import { acquireSwitchLock, extendSwitchLock, readServing, releaseSwitchLock } from '../../src/core/stores/serving.ts'
import { type SwitchResult, switchServing } from '../../src/core/stores/switchServing.ts'
import { forgetVisiblePositions, knowsDeletions, newCursorKey } from '../../src/core/stores/visiblePositions.ts'
import { until } from '../backoff.ts'
import { type CommandTools, runEngineCommand } from '../engineCommand.ts'
import { refreshEveryCopy } from '../refreshEveryCopy.ts'
import { entityTypeIn, readTopicRules, type TopicRules } from '../topics.ts'
import { decideLeftOver, numberAbove } from './chooseGeneration.ts'
import { finishSwitch } from './finishSwitch.ts'
import type { FoundGeneration, Generation } from './generation.ts'
import { type Generations, unlessRemoved } from './generations.ts'
import { MissedStates } from './missedStates.ts'
import { expectAlone, generationsOf, RebuildPipeline } from './rebuildPipeline.ts'
import { Reconciliation } from './reconcile.ts'
import { findReplacedTypes, MixedLogs } from './replacedLogs.ts'
import { ForgottenEntities } from './rereadTopics.ts'

/** The longest time for which a killed rebuild keeps the serving generation from being published. */
const maxLockMs = 10_000
const renewalMs = 2_500
/** Bounds how long a step of the switch without progress keeps the lock: after that, the serving generation is published again. */
const maxRenewals = 12
/** Shorter than the lock: after a later response the rebuild would find that it has lost it. */
const switchTimeoutMs = 5_000
/** A pass over so few documents is short enough to be repeated while the switch is locked. */
const smallPass = 5_000
/** How long copies may take to have every write that had begun. */
const wholeDeadlineMs = 5_000
/** For how long the aliases are tried to be moved; indexers move them meanwhile, too. */
const aliasesDeadlineMs = 60_000
/** Longer than any API request that began on the old indices. */
const graceMs = 10_000
const readersDeadlineMs = 600_000
const pollMs = 1_000

export const command = new Command().action(async () => {
  await runEngineCommand('rebuild', rebuild)
  // A pipeline that did not stop in time ends here.
  process.exit()
})

/**
 * Builds a new generation of indices from Kafka beside the one in service, copies what only the old one still has, and switches to it in one
 * step. A rebuild that was killed at any point can be run again: it continues, or cleans up.
 */
export async function rebuild(options: CommandTools): Promise<void> {
  const { config, source, redis, report, signal } = options
  await expectAlone(options)
  // What serves is asked for once no other rebuild can switch.
  const generations = generationsOf(options)
  // An earlier rebuild may have been killed after it had switched.
  await finishSwitch(generations, await readServing(redis))
  const serving = await generations.serving()
  if (serving === undefined) throw new Error('no indices serve yet: an indexer builds the first ones by itself')
  const rules = await readTopicRules(source, config)
  const replaced = await findReplacedTypes(options, serving, rules)
  const left = await pruneLeftOver(options, serving, rules, replaced)
  // Removing takes long: another rebuild may have begun, and switched.
  if ((await generations.serving())?.tag !== serving.tag)
    throw new Error(`generation ${serving.number} does not serve any more: run the rebuild again`)
  const unfinished = left.find((each) => decideLeftOver(each, serving) === 'fill')
  const number = unfinished?.number ?? numberAbove(left, true)
  const holder = randomUUID()
  const target = await generations.fill(number, holder)
  report.step(`generation ${number} is built beside generation ${serving.number}`)

  const failed = new AbortController()
  const untilFailed = { ...options, signal: AbortSignal.any([signal, failed.signal]) }
  const forgotten = new ForgottenEntities(untilFailed, serving, rules, replaced)
  const pipeline = new RebuildPipeline(untilFailed, target, rules, (error) => failed.abort(error))
  try {
    await pipeline.readToTheEnd()
    const reconciliation = new Reconciliation(untilFailed, serving, target, replaced)
    await reconcileAll(untilFailed, reconciliation, forgotten)
    const missed = new MissedStates(untilFailed, serving, target, replaced)
    await missed.compare(pipeline.visible())
    await switchOver(untilFailed, holder, pipeline, reconciliation, forgotten, missed)
  } catch (error) {
    failed.signal.throwIfAborted()
    await pipeline.stop()
    if (error instanceof MixedLogs) await removeFilled(options, target)
    throw error
  } finally {
    await pipeline.stop()
  }
  await pruneRetired(options, serving)
}

/**
 * Removes what interrupted rebuilds have left beside the generation in service, and unfinished indices of other releases. An
 * older generation that once served is reconciled first: only with what the topics still hold, because that may have been deleted since. Returns
 * what is left.
 */
export async function pruneLeftOver(
  options: CommandTools,
  serving: Generation,
  rules: TopicRules,
  replaced: ReadonlySet<EntityType>,
) {
  const generations = generationsOf(options)
  const left: FoundGeneration[] = []
  for (const each of await generations.find()) {
    const decision = decideLeftOver(each, serving)
    if (decision === 'keep' || decision === 'fill') {
      left.push(each)
      continue
    }
    options.report.step(`generation ${each.number} is left over and is removed`)
    if (decision === 'reconcile and remove' && each.complete !== undefined) {
      const reconciliation = new Reconciliation(options, each.complete, serving, replaced)
      const forgotten = new ForgottenEntities(options, each.complete, rules, replaced)
      await reconcileAll(options, reconciliation, forgotten).catch(unlessRemoved(each.complete))
    }
    if (each.complete?.hasServed && !(await isUnread(options, each.complete))) left.push(each)
    else await generations.delete(each)
  }
  return left
}

/** Runs passes until one is short enough to be repeated while the switch is locked. `forgotten` takes what the first one does not copy. */
async function reconcileAll(options: CommandTools, reconciliation: Reconciliation, forgotten: ForgottenEntities) {
  const { compared, copied } = await reconciliation.pass((kind, old) => forgotten.takes(kind, old))
  options.report.step(`${compared} documents compared, ${copied} copied`)
  await forgotten.copyHeld(reconciliation)
  while ((await reconciliation.pass()).compared > smallPass);
}

/** Removes a generation that was filled and never served. */
async function removeFilled(options: CommandTools, { tag }: Generation): Promise<void> {
  const generations = generationsOf(options)
  const filled = (await generations.find()).find(({ complete }) => complete?.tag === tag && !complete.hasServed)
  if (filled !== undefined) await generations.delete(filled)
}

/** The passes after which the new generation holds every write of the old one that had begun before: each copy must have it. */
async function passWhole({ signal }: CommandTools, reconciliation: Reconciliation, extendLock: () => Promise<void>) {
  await extendLock()
  const pass = await reconciliation.beginWhole()
  const isWhole = async (): Promise<boolean> => {
    await extendLock()
    return await pass()
  }
  if (!(await until(isWhole, wholeDeadlineMs, signal)))
    throw new Error('copies of the old generation lack what others have: run the rebuild again')
}

/** Renews the lock until `stopRenewing`; `extendLock` rejects once it has expired. */
function renewLock(redis: CommandTools['redis'], holder: string) {
  let renewals = 0
  const extendLock = async (): Promise<void> => {
    renewals = 0
    if (!(await extendSwitchLock(redis, holder, maxLockMs))) throw new Error('the lock of the switch has expired')
  }
  // One that fails is told by the next step.
  const renewal = setInterval(() => {
    if (renewals++ < maxRenewals) extendSwitchLock(redis, holder, maxLockMs).catch(() => undefined)
  }, renewalMs)
  return { extendLock, stopRenewing: (): void => clearInterval(renewal) }
}

/**
 * Switches the readers to the new generation:
 * 1. Takes the lock. From then on nothing is published of the old generation, which indexers go on writing.
 * 2. Reads to the ends that the topics have then: the new generation shows all that was published of the old one.
 * 3. Compares it with the old one until it has all of it that was written before.
 * 4. Describes the new generation, and switches in one script (`switchServing.ts`).
 * 5. Moves the aliases. If this process dies before that, an indexer does it, or the next rebuild.
 *
 * When a step before the script fails, the lock is released, and the old generation is published again. Records that only the old generation holds
 * at the switch lie above the commits of the rebuild: indexers read them again for the new one.
 */
async function switchOver(
  options: CommandTools,
  holder: string,
  pipeline: RebuildPipeline,
  reconciliation: Reconciliation,
  forgotten: ForgottenEntities,
  missed: MissedStates,
): Promise<void> {
  const { elasticsearch, redis, report, clock, signal } = options
  const { from: serving, to: target } = reconciliation
  await pipeline.expectUndisturbed()
  await pipeline.untilRejectedAreCommitted(serving)
  if (!(await acquireSwitchLock(redis, holder, maxLockMs))) throw new Error('another rebuild is switching')
  report.step('switching')
  const { extendLock, stopRenewing } = renewLock(redis, holder)
  const generations = generationsOf(options, switchTimeoutMs)
  try {
    const reached = await pipeline.readToTheEnd(extendLock)
    await pipeline.untilRejectedAreCommitted(serving, extendLock)
    const dropped = await forgotten.drop(reconciliation, clock(), extendLock)
    if (!(await pipeline.stop())) throw new Error('the new generation is not written in time: run the rebuild again')
    await passWhole(options, reconciliation, extendLock)
    await refreshEveryCopy(elasticsearch, Object.values(target.indices), { signal, requestTimeout: switchTimeoutMs })
    await extendLock()
    await missed.compare(reached, extendLock)
    const missedCount = await missed.count(extendLock)
    await pipeline.expectOwn()
    if ((await generations.serving())?.tag !== serving.tag)
      throw new Error(`generation ${serving.number} does not serve any more: run the rebuild again`)
    const cursorKeys = await describeFeed(options, generations, reconciliation, dropped > 0 || missedCount > 0)
    const switched = await switchServing(redis, {
      ...{ holder, from: serving.tag, to: target, cursorKeys, replaced: reconciliation.replaced },
      reached: reached.map(({ topic, ...of }) => ({ ...of, type: entityTypeIn(topic, options.config) })),
    })
    if (missedCount > 0)
      report.step(
        `${missedCount} entities have states that were dead letters until now: followers of changes start anew`,
      )
    if (switched.kind !== 'switched') throw new Error(`${reasonOf(switched)}: run the rebuild again`)
  } finally {
    stopRenewing()
    await releaseSwitchLock(redis, holder).catch(() => undefined)
  }
  report.step(`generation ${target.number} serves`)
  await moveAliases(options, target)
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

/** Moves the aliases to the generation that serves since the switch, or waits until an indexer has done that. */
async function moveAliases(options: CommandTools, target: Generation): Promise<void> {
  const { redis, log, signal } = options
  const generations = generationsOf(options, switchTimeoutMs)
  const haveMoved = async (): Promise<boolean> => {
    try {
      const found = await finishSwitch(generations, await readServing(redis))
      return found.some(({ complete }) => complete?.tag === target.tag && complete.isServing)
    } catch (err) {
      // It is tried again: readers are served from the new generation already.
      log.warn({ err }, 'the aliases were not moved')
      return false
    }
  }
  if (!(await until(haveMoved, aliasesDeadlineMs, signal, pollMs)))
    throw new Error(`the aliases do not name generation ${target.number}: run the rebuild again`)
}

/**
 * Describes the new generation so that followers of changes go on in it, which holds all that the old one shows. Its cursors are sealed by another key, and
 * followers start anew, if it may lack a deletion of which they were not told: one was dropped that is in no record, or the old generation may
 * have missed one, or Redis does not know. They start anew, too, after a log was replaced, since the positions that they have are of another one; and if
 * the new generation has states that they have passed (`MissedStates`).
 */
async function describeFeed(
  { redis }: CommandTools,
  generations: Generations,
  { from, to, replaced }: Reconciliation,
  hasMissed: boolean,
): Promise<Generation['cursorKeys']> {
  const goesOn = !hasMissed && replaced.size === 0 && (await knowsDeletions(redis, from.tag))
  // Not those of the new indices: an earlier attempt that was killed may have carried the old ones on.
  const cursorKeys = goesOn ? from.cursorKeys : { forms: newCursorKey(), submissions: newCursorKey() }
  const isCarriedOver = (type: EntityType): boolean => from.hasCarriedOver[type] || replaced.has(type)
  const hasCarriedOver = { forms: isCarriedOver('forms'), submissions: isCarriedOver('submissions') }
  await generations.describe(to, { cursorKeys, hasCarriedOver })
  return cursorKeys
}

/**
 * Waits until nobody reads a generation, and Redis does not name it, as after a fall back to an older state. When that takes too long, the generation
 * is left to the next rebuild.
 */
async function isUnread(options: CommandTools, generation: Generation): Promise<boolean> {
  const { redis, signal, report } = options
  const generations = generationsOf(options)
  const hasNoReaders = async () =>
    (await readServing(redis)) !== generation.tag && (await generations.countReaders(generation)) === 0
  if (await until(hasNoReaders, readersDeadlineMs, signal, pollMs)) return true
  report.step(`generation ${generation.number} is still read; the next rebuild removes it`)
  return false
}

/** Removes a generation once nobody reads it. */
async function pruneRetired(options: CommandTools, retired: Generation): Promise<void> {
  const { signal, report } = options
  const generations = generationsOf(options)
  report.step(`generation ${retired.number} is kept until its readers are done`)
  await sleep(graceMs, undefined, { signal })
  if (!(await isUnread(options, retired))) return
  const left = (await generations.find()).find(({ complete }) => complete?.tag === retired.tag && !complete.isServing)
  if (left !== undefined) await generations.delete(left)
  await forgetVisiblePositions(options.redis, retired.tag)
  report.step(`generation ${retired.number} is removed`)
}
