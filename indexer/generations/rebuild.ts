import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command, InvalidArgumentError } from 'commander'
import type { EntityType } from '../../src/core/model/ids.ts'
import { readServing } from '../../src/core/redis/serving.ts'
import { forgetVisiblePositions } from '../../src/core/redis/visiblePositions.ts'
import { until } from '../backoff.ts'
import { type CommandTools, runEngineCommand } from '../engineCommand.ts'
import { readTopicRules, type TopicRules } from '../topics.ts'
import { decideLeftOver, numberAbove } from './chooseGeneration.ts'
import { findReplacedTypes, MixedLogs } from './findReplacedTypes.ts'
import { finishSwitch } from './finishSwitch.ts'
import { ForgottenEntities } from './forgottenEntities.ts'
import { FormerDeadLetters } from './formerDeadLetters.ts'
import type { FoundGeneration, Generation } from './generation.ts'
import { unlessRemoved } from './generations.ts'
import { announceToMembers, fillAsMember } from './rebuildMembers.ts'
import { expectAlone, generationsOf, RebuildPipeline, removeFilled } from './rebuildPipeline.ts'
import { RebuildReport } from './rebuildReport.ts'
import { Reconciliation } from './reconciliation.ts'
import { switchOver } from './switchOver.ts'

/** A comparison of so few documents may be repeated while the lock of the switch stops the watermark. */
const smallPassDocuments = 5_000
/** A request that began before the switch may open a search of the old indices for so long. */
const graceMs = 10_000
const readersDeadlineMs = 600_000
const readersPollMs = 1_000

export const command = new Command()
  .option(
    '--member <number>',
    'of several processes that rebuild together: 0 leads, any other helps to read the topics',
    readMember,
    0,
  )
  .action(async ({ member }: { member: number }) => {
    await runEngineCommand('rebuild', member === 0 ? rebuild : fillAsMember)
    // A pipeline that did not stop in time would keep the process alive.
    process.exit()
  })

function readMember(text: string): number {
  if (!/^\d{1,3}$/.test(text)) throw new InvalidArgumentError('must be a whole number from 0 to 999')
  return Number(text)
}

/**
 * Builds a new generation from Kafka, copies to it the documents that only the serving one still has, and switches readers to it. After a rebuild was killed,
 * the next one continues, or removes what it has left.
 */
export async function rebuild(tools: CommandTools): Promise<void> {
  // 1. Another rebuild could switch while this one compares.
  await expectAlone(tools)
  const report = new RebuildReport(tools.redis, tools.report, tools.clock)
  let end: 'finished' | 'failed' = 'failed'
  try {
    await rebuildAlone({ ...tools, report: report.terminal }, report)
    end = 'finished'
  } finally {
    await report.end(end)
  }
}

async function rebuildAlone(options: CommandTools, progress: Pick<RebuildReport, 'enter'>): Promise<void> {
  const { config, source, redis, report, signal } = options
  // 2. An earlier rebuild may have been killed in its switch.
  const generations = generationsOf(options)
  await finishSwitch(generations, await readServing(redis))
  const serving = await generations.serving()
  if (serving === undefined) throw new Error('no indices serve yet: an indexer builds the first ones by itself')
  const rules = await readTopicRules(source, config)
  const replaced = await findReplacedTypes(options, serving, rules)
  // 3. Another rebuild may have switched meanwhile.
  const remaining = await pruneLeftOver(options, serving, rules, replaced)
  if ((await generations.serving())?.tag !== serving.tag)
    throw new Error(`generation ${serving.number} does not serve any more: run the rebuild again`)
  // 4. Creates the new generation, or continues an unfinished one.
  const unfinished = remaining.find((generation) => decideLeftOver(generation, serving) === 'fill')
  const number = unfinished?.number ?? numberAbove(remaining, true)
  // The id of this rebuild: it is in the write aliases, and owns the lock of the switch.
  const holder = randomUUID()
  const target = await generations.fill(number, holder)
  report.step(`generation ${number} is built beside generation ${serving.number}`)
  progress.enter('fill', number)

  const failure = new AbortController()
  const toolsUntilFailed = { ...options, signal: AbortSignal.any([signal, failure.signal]) }
  const forgottenEntities = new ForgottenEntities(toolsUntilFailed, serving, rules, replaced)
  const pipeline = new RebuildPipeline(toolsUntilFailed, target, rules, (error) => failure.abort(error))
  const announcement = announceToMembers(redis, { tag: target.tag, holder })
  try {
    // 5. Fills the new generation from Kafka, with the help of members.
    await pipeline.fill()
    await announcement.withdraw()
    await pipeline.untilMembersHaveLeft()
    // 6. Copies the documents that the new generation lacks.
    progress.enter('compare')
    const reconciliation = new Reconciliation(toolsUntilFailed, serving, target, replaced)
    await reconcileAll(toolsUntilFailed, reconciliation, forgottenEntities)
    const formerDeadLetters = new FormerDeadLetters(toolsUntilFailed, serving, target, replaced)
    // Most is compared now; the rest in step 7, under the lock of the switch.
    await formerDeadLetters.compare(pipeline.visible(), undefined)
    // 7. Switches readers.
    progress.enter('switch')
    const parts = { holder, pipeline, reconciliation, forgottenEntities, formerDeadLetters }
    await switchOver({ tools: toolsUntilFailed, ...parts })
  } catch (error) {
    // After a bug in the pipeline, this error only says that the signal has aborted: throws the bug.
    failure.signal.throwIfAborted()
    await pipeline.stop()
    if (error instanceof MixedLogs) await removeFilled(options, target)
    throw error
  } finally {
    await announcement.withdraw()
    await pipeline.stop()
  }
  // 8. Removes the old generation once it has no readers.
  progress.enter('remove')
  await pruneRetired(options, serving)
}

/**
 * Removes what interrupted rebuilds have left, and unfinished indices of other releases. From a generation that has served, first copies the documents that the
 * serving one lacks, except those of entities that were deleted since. Returns what is not removed.
 */
export async function pruneLeftOver(
  options: CommandTools,
  serving: Generation,
  rules: TopicRules,
  replaced: ReadonlySet<EntityType>,
): Promise<FoundGeneration[]> {
  const generations = generationsOf(options)
  const remaining: FoundGeneration[] = []
  for (const generation of await generations.find()) {
    const { number, complete } = generation
    const decision = decideLeftOver(generation, serving)
    if (decision === 'keep' || decision === 'fill') {
      remaining.push(generation)
      continue
    }
    options.report.step(`generation ${number} is left over and is removed`)
    if (decision === 'reconcile and remove' && complete !== undefined) {
      const reconciliation = new Reconciliation(options, complete, serving, replaced)
      const forgottenEntities = new ForgottenEntities(options, complete, rules, replaced)
      await reconcileAll(options, reconciliation, forgottenEntities).catch(unlessRemoved(complete))
    }
    if (complete?.hasServed && !(await untilUnread(options, complete))) remaining.push(generation)
    else await generations.delete(generation)
  }
  return remaining
}

/** Each pass compares the writes since the pass before, until one is short enough to be repeated under the lock of the switch. */
async function reconcileAll(
  options: CommandTools,
  reconciliation: Reconciliation,
  forgottenEntities: ForgottenEntities,
) {
  const { compared, copied } = await reconciliation.pass((kind, old) => forgottenEntities.postponesCopy(kind, old))
  options.report.step(`${compared} documents compared, ${copied} copied`)
  await forgottenEntities.copyWithRecord(reconciliation.copier)
  while ((await reconciliation.pass()).compared > smallPassDocuments);
}

/**
 * Waits until nobody searches the generation: it has no open search, and Redis does not name it, as it might again after a failover to an older state. Resolves
 * with false after ten minutes: then the next rebuild removes the generation.
 */
async function untilUnread(options: CommandTools, generation: Generation): Promise<boolean> {
  const { redis, signal, report } = options
  const generations = generationsOf(options)
  const hasNoReaders = async () =>
    (await readServing(redis)) !== generation.tag && (await generations.countReaders(generation)) === 0
  if (await until(hasNoReaders, readersDeadlineMs, signal, readersPollMs)) return true
  report.step(`generation ${generation.number} is still read; the next rebuild removes it`)
  return false
}

async function pruneRetired(options: CommandTools, retired: Generation): Promise<void> {
  const { signal, report } = options
  const generations = generationsOf(options)
  report.step(`generation ${retired.number} is kept until its readers are done`)
  await sleep(graceMs, undefined, { signal })
  if (!(await untilUnread(options, retired))) return
  const present = (await generations.find()).find(
    ({ complete }) => complete?.tag === retired.tag && !complete.isServing,
  )
  if (present !== undefined) await generations.delete(present)
  await forgetVisiblePositions(options.redis, retired.tag)
  report.step(`generation ${retired.number} is removed`)
}
