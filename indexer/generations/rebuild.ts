import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import type { EntityType } from '../../src/core/model/ids.ts'
import { documentKinds } from '../../src/core/stores/indices.ts'
import { acquireSwitchLock, extendSwitchLock, releaseSwitchLock, setServing } from '../../src/core/stores/serving.ts'
import {
  carryVisiblePositions,
  forgetVisiblePositions,
  knowsDeletions,
  newCursorKey,
} from '../../src/core/stores/visiblePositions.ts'
import { until } from '../backoff.ts'
import { type CommandTools, runEngineCommand } from '../engineCommand.ts'
import { refreshEveryCopy } from '../refreshEveryCopy.ts'
import { entityTypeIn, readTopicRules, type TopicRules } from '../topics.ts'
import type { VisiblePartition } from '../visibilityPublisher.ts'
import { decideLeftOver, numberAbove } from './chooseGeneration.ts'
import type { FoundGeneration, Generation } from './generation.ts'
import { type Generations, unlessRemoved } from './generations.ts'
import { expectAlone, generationsOf, RebuildPipeline } from './rebuildPipeline.ts'
import { Reconciliation } from './reconcile.ts'
import { findReplacedTypes, MixedLogs } from './replacedLogs.ts'
import { ForgottenEntities } from './rereadTopics.ts'

/** The longest time for which a killed rebuild keeps the serving generation from being published. */
const maxHoldMs = 10_000
const renewalMs = 2_500
/** Bounds how long a step of the switch without progress keeps the hold: after that, indexers write the old generation again. */
const maxRenewals = 12
/** Shorter than the lock: after a later response the serving generation may have been published further. */
const switchTimeoutMs = 5_000
/** A pass over so few documents is short enough to be repeated while the switch is locked. */
const smallPass = 5_000
/** How long copies may take to have all of a generation that is written no more. */
const wholeDeadlineMs = 5_000
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
 * Builds a new generation of indices from Kafka beside the one in service, copies what only the old one still has, and switches
 * the read aliases in one request. A rebuild that was killed at any point can be run again: it continues, or cleans up.
 */
export async function rebuild(options: CommandTools): Promise<void> {
  const { config, source, report, signal } = options
  await expectAlone(options)
  // What serves is asked for once no other rebuild can switch.
  const generations = generationsOf(options)
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
    await switchOver(untilFailed, holder, pipeline, reconciliation, forgotten)
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

/** The pass after the last write: each copy must have all of it. */
async function passWhole({ signal }: CommandTools, reconciliation: Reconciliation, extendHold: () => Promise<void>) {
  const isWhole = async (): Promise<boolean> => {
    await extendHold()
    return (await reconciliation.pass()).isWhole
  }
  if (!(await until(isWhole, wholeDeadlineMs, signal)))
    throw new Error('copies of the old generation lack what others have: run the rebuild again')
}

/** Renews the hold until `stopRenewing`; `extendHold` rejects once the hold has expired. */
function renewHold(redis: CommandTools['redis'], holder: string) {
  let renewals = 0
  const extendHold = async (): Promise<void> => {
    renewals = 0
    if (!(await extendSwitchLock(redis, holder, maxHoldMs))) throw new Error('the lock of the switch has expired')
  }
  // One that fails is told by the next step.
  const renewal = setInterval(() => {
    if (renewals++ < maxRenewals) extendSwitchLock(redis, holder, maxHoldMs).catch(() => undefined)
  }, renewalMs)
  return { extendHold, stopRenewing: (): void => clearInterval(renewal) }
}

/** Switches the readers to the new generation. When that fails, or `signal` aborts, writers get the old one back, and it is published again. */
async function switchOver(
  options: CommandTools,
  holder: string,
  pipeline: RebuildPipeline,
  reconciliation: Reconciliation,
  forgotten: ForgottenEntities,
): Promise<void> {
  const { elasticsearch, redis, report, clock, signal } = options
  const { from: serving, to: target } = reconciliation
  await pipeline.expectUndisturbed()
  if (!(await acquireSwitchLock(redis, holder, maxHoldMs))) throw new Error('another rebuild is switching')
  report.step('switching')
  const { extendHold, stopRenewing } = renewHold(redis, holder)
  const generations = generationsOf(options, switchTimeoutMs)
  let isSwitched = false
  try {
    // Nothing is published of the serving generation from here on.
    const reached = await pipeline.readToTheEnd(extendHold)
    const dropped = await forgotten.drop(reconciliation, clock(), extendHold)
    if (!(await pipeline.stop())) throw new Error('the new generation is not written in time: run the rebuild again')
    await extendHold()
    await reconciliation.pass()
    await extendHold()
    if ((await generations.serving())?.tag !== serving.tag)
      throw new Error(`generation ${serving.number} does not serve any more`)
    // From here to the switch nothing is written to the old generation, so that the new one can hold all of it.
    await generations.blockWrites(serving, holder)
    await passWhole(options, reconciliation, extendHold)
    await refreshEveryCopy(elasticsearch, Object.values(target.indices), { signal, requestTimeout: switchTimeoutMs })
    // Once the hold is lost, indexers write the old generation again.
    await extendHold()
    await expectNoFewerDocuments(options, serving, target)
    await carryFeedOn(options, generations, reconciliation, reached, dropped > 0)
    await extendHold()
    await generations.serve(target, { generation: serving, holder })
    isSwitched = true
    await setServing(redis, target.tag)
  } catch (error) {
    const last = generationsOf({ ...options, signal: AbortSignal.timeout(switchTimeoutMs) }, switchTimeoutMs)
    // The first error is told. Indexers give the writes back once the hold has expired.
    if (!isSwitched) await last.unblockWrites(serving).catch(() => undefined)
    throw error
  } finally {
    stopRenewing()
    await releaseSwitchLock(redis, holder).catch(() => undefined)
  }
  report.step(`generation ${target.number} serves`)
}

/**
 * Lets followers of changes go on in the new generation, which holds all that the old one shows. Its cursors are sealed by another key, and
 * followers start anew, if it may lack a deletion of which they were not told: one was dropped that is in no record, or the old generation may
 * have missed one, or Redis does not know. They start anew, too, after a log was replaced: the positions that they have are of another one.
 */
async function carryFeedOn(
  { config, redis }: CommandTools,
  generations: Generations,
  { from, to, replaced }: Reconciliation,
  reached: readonly VisiblePartition[],
  hasDropped: boolean,
): Promise<void> {
  const goesOn = !hasDropped && replaced.size === 0 && (await knowsDeletions(redis, from.tag))
  // Not those of the new indices: an earlier attempt that was killed may have carried the old ones on.
  const cursorKeys = goesOn ? from.cursorKeys : { forms: newCursorKey(), submissions: newCursorKey() }
  const isCarriedOver = (type: EntityType): boolean => from.hasCarriedOver[type] || replaced.has(type)
  const hasCarriedOver = { forms: isCarriedOver('forms'), submissions: isCarriedOver('submissions') }
  await generations.describe(to, { cursorKeys, hasCarriedOver })
  await carryVisiblePositions(redis, {
    ...{ from: from.tag, to: to.tag, cursorKeys, replaced },
    reached: reached.map(({ topic, ...of }) => ({ ...of, type: entityTypeIn(topic, config) })),
  })
}

/** Throws when an old index has more documents than the new one, counted by Elasticsearch. */
async function expectNoFewerDocuments({ elasticsearch, signal }: CommandTools, from: Generation, to: Generation) {
  for (const kind of documentKinds) {
    const count = async ({ indices }: Generation): Promise<number> => {
      const { count: documents, _shards: shards } = await elasticsearch.count({ index: indices[kind] }, { signal })
      if (shards.failed > 0) throw new Error(`${shards.failed} shards of ${indices[kind]} were not counted`)
      return documents
    }
    const [before, after] = [await count(from), await count(to)]
    if (after < before) throw new Error(`${kind} would lose documents: ${before} before, ${after} after`)
  }
}

/** Waits until nobody reads a generation. When that takes too long, it is left to the next rebuild. */
async function isUnread(options: CommandTools, generation: Generation): Promise<boolean> {
  const { signal, report } = options
  const generations = generationsOf(options)
  const hasNoReaders = async () => (await generations.countReaders(generation)) === 0
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
