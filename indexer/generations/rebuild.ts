import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { documentKinds } from '../../src/core/stores/indices.ts'
import {
  acquireWatermarkHold,
  extendWatermarkHold,
  readHighestWatermark,
  releaseWatermarkHold,
  setWatermarkGeneration,
} from '../../src/core/stores/watermark.ts'
import type { CommandTools } from '../engineCommand.ts'
import { refreshEveryCopy } from '../refresh.ts'
import { documentTopics, readTopicRules } from '../topics.ts'
import { blockWrites, serveGeneration, unblockWrites } from './aliases.ts'
import { decideLeftOver, numberAbove, readersOf } from './decide.ts'
import {
  countReaders,
  createGeneration,
  deleteGeneration,
  type FoundGeneration,
  findGenerations,
  type Generation,
} from './generations.ts'
import { ForgottenEntities, purelyCompacted, raiseUnseen } from './readAgain.ts'
import { expectAlone, RebuildPipeline } from './rebuildPipeline.ts'
import { Reconciliation } from './reconcile.ts'

const requestTimeoutMs = 30_000
/** The longest time for which a killed rebuild keeps the watermark from advancing. */
const maxHoldMs = 10_000
/** Shorter than the hold: after a later response the watermark may have advanced. */
const switchTimeoutMs = 5_000
/** A pass over so few documents is short enough to be repeated while the watermark is held. */
const smallPass = 5_000
/** Longer than any API request that began on the old indices. */
const graceMs = 10_000
const readersDeadlineMs = 600_000
const pollMs = 1_000

/**
 * Builds a new generation of indices from Kafka beside the one in service, copies what only the old one still has, and switches
 * the read aliases in one request. A rebuild that was killed at any point can be run again: it continues, or cleans up.
 */
export async function rebuild(options: CommandTools): Promise<void> {
  const { config, source, report } = options
  const serving = (await findAll(options)).find(({ complete }) => complete?.isServing)?.complete
  if (serving === undefined) throw new Error('no indices serve yet: an indexer builds the first ones by itself')
  await expectAlone(options)
  await pruneLeftOver(options, serving)
  const target = await openTarget(options, serving)
  report.step(`generation ${target.number} is built beside generation ${serving.number}`)

  const rules = await readTopicRules(source, config)
  const forgotten = new ForgottenEntities(purelyCompacted(config, rules))
  const failed = new AbortController()
  const untilFailed = { ...options, signal: AbortSignal.any([options.signal, failed.signal]) }
  const pipeline = new RebuildPipeline(untilFailed, target, rules, (error) => failed.abort(error))
  try {
    await pipeline.readToTheEnd()
    const reconciliation = await reconcileAll(untilFailed, serving, target, forgotten)
    await switchOver(untilFailed, { pipeline, reconciliation, serving, target, forgotten })
  } catch (error) {
    failed.signal.throwIfAborted()
    throw error
  } finally {
    await pipeline.stop()
  }
  await pruneRetired(options, serving)
}

const findAll = ({ config, elasticsearch, signal }: CommandTools): Promise<FoundGeneration[]> =>
  findGenerations(elasticsearch, config.INDEX_PREFIX, { signal, requestTimeout: requestTimeoutMs })

/**
 * Removes what interrupted rebuilds have left beside the generation in service, and unfinished indices of other releases. An
 * older generation that once served is reconciled first.
 */
export async function pruneLeftOver(options: CommandTools, serving: Generation): Promise<void> {
  const { elasticsearch, signal, report } = options
  for (const each of await findAll(options)) {
    const decision = decideLeftOver(each, serving)
    if (decision === 'keep' || decision === 'fill') continue
    report.step(`generation ${each.number} is left over and is removed`)
    if (decision === 'reconcile and remove' && each.complete !== undefined)
      await reconcileAll(options, each.complete, serving, new ForgottenEntities(new Map()))
    await deleteGeneration(elasticsearch, each, { signal, requestTimeout: requestTimeoutMs })
  }
}

/** The unfinished generation of an interrupted rebuild, or a new one. */
async function openTarget(options: CommandTools, serving: Generation): Promise<Generation> {
  const { config, elasticsearch, signal } = options
  const found = await findAll(options)
  const unfinished = found.find((each) => decideLeftOver(each, serving) === 'fill')
  const numbers = found.map((each) => each.number)
  const number = unfinished?.number ?? numberAbove(numbers, true)
  return await createGeneration(elasticsearch, config, number, { signal, requestTimeout: requestTimeoutMs })
}

/** Runs passes until one is short enough to be repeated while the watermark is held. The first one shows which entities are missing. */
async function reconcileAll(
  options: CommandTools,
  from: Generation,
  to: Generation,
  forgotten: ForgottenEntities,
): Promise<Reconciliation> {
  const { elasticsearch, raw, report, signal } = options
  const { count: total } = await elasticsearch.count({ index: Object.values(from.indices) }, { signal })
  let [compared, isFirst] = [0, true]
  const onProgress = (documents: number): void => {
    compared += documents
    if (isFirst) report.progress('documents compared', Math.min(compared, total), total)
  }
  let waitingFor: string | null = null
  const onBlocked = (reason: string | null): void => {
    if (reason !== null && reason !== waitingFor) report.step(`waiting: ${reason}`)
    waitingFor = reason
  }
  const reconciliation = new Reconciliation({
    ...{ elasticsearch, raw, from, to, forgotten, signal, onProgress, onBlocked },
  })
  for (const [kind, { documents, reconciled, newerInTarget }] of Object.entries(await reconciliation.pass()))
    report.step(`${kind}: ${documents} documents, ${reconciled} reconciled, ${newerInTarget} newer already`)
  isFirst = false
  await forgotten.settle(options, reconciliation)
  const pass = async (): Promise<number> =>
    Object.values(await reconciliation.pass()).reduce((sum, { documents }) => sum + documents, 0)
  while ((await pass()) > smallPass);
  return reconciliation
}

type Switch = {
  readonly pipeline: RebuildPipeline
  /** Of what was written so far. */
  readonly reconciliation: Reconciliation
  readonly serving: Generation
  readonly target: Generation
  readonly forgotten: ForgottenEntities
}

/** Ends what it has begun when `signal` aborts, at any point. */
async function switchOver(
  options: CommandTools,
  { pipeline, reconciliation, serving, target, forgotten }: Switch,
): Promise<void> {
  const { config, elasticsearch, redis, report, signal } = options
  const holder = randomUUID()
  report.step('switching')
  if (!(await acquireWatermarkHold(redis, holder, maxHoldMs)))
    throw new Error('the watermark is held by another rebuild')
  const extendHold = async (): Promise<void> => {
    if (!(await extendWatermarkHold(redis, holder, maxHoldMs))) throw new Error('the hold on the watermark has expired')
  }
  const request = { signal, requestTimeout: switchTimeoutMs }
  let isSwitched = false
  try {
    // No watermark is published from here on.
    const watermarkMs = await readHighestWatermark(redis)
    // Records that only the new generation holds get no `changedAt` below the last watermark that readers know.
    if (watermarkMs !== undefined) pipeline.startChangesAt(watermarkMs)
    const readBefore = await options.source.offsetRanges(documentTopics(config))
    await pipeline.readToTheEnd(extendHold)
    if (watermarkMs !== undefined) await raiseUnseen(options, reconciliation, watermarkMs, readBefore, extendHold)
    await forgotten.drop(options, reconciliation, Math.max(Date.now(), watermarkMs ?? 0), extendHold)
    await reconciliation.pass()
    await extendHold()
    await expectServing(options, serving)
    // From here to the switch nothing is written to the old generation, so that the new one can hold all of it.
    await blockWrites(elasticsearch, serving, holder, request)
    await reconciliation.pass()
    await refreshEveryCopy(elasticsearch, Object.values(target.indices), request)
    await expectNoFewerDocuments(options, serving, target)
    await extendHold()
    await serveGeneration(elasticsearch, config.INDEX_PREFIX, target, request, { generation: serving, holder })
    isSwitched = true
    await setWatermarkGeneration(redis, target.tag)
  } catch (error) {
    const last = { ...request, signal: AbortSignal.timeout(switchTimeoutMs) }
    // What failed first is told. Indexers give the writes back once the hold has expired.
    if (!isSwitched) await unblockWrites(elasticsearch, config.INDEX_PREFIX, serving, last).catch(() => undefined)
    throw error
  } finally {
    await releaseWatermarkHold(redis, holder).catch(() => undefined)
  }
  report.step(`generation ${target.number} serves`)
}

async function expectServing(options: CommandTools, old: Generation): Promise<void> {
  if (readersOf(await findAll(options), old) !== 'its own')
    throw new Error(`generation ${old.number} does not serve any more`)
}

/** Throws when an old index has more documents than the new one, counted by Elasticsearch. */
async function expectNoFewerDocuments(
  { elasticsearch, signal }: CommandTools,
  from: Generation,
  to: Generation,
): Promise<void> {
  for (const kind of documentKinds) {
    const counts = [from, to].map(({ indices }) => elasticsearch.count({ index: indices[kind] }, { signal }))
    const [before, after] = await Promise.all(counts)
    if ((after?.count ?? 0) < (before?.count ?? 0))
      throw new Error(`${kind} would lose documents: ${before?.count} before, ${after?.count} after`)
  }
}

/** Removes a generation once nobody reads it. When that takes too long, it is left to the next rebuild. */
async function pruneRetired(options: CommandTools, retired: Generation): Promise<void> {
  const { elasticsearch, signal, report } = options
  const request = { signal, requestTimeout: requestTimeoutMs }
  report.step(`generation ${retired.number} is kept until its readers are done`)
  await sleep(graceMs, undefined, { signal })
  const givesUpAtMs = Date.now() + readersDeadlineMs
  while ((await countReaders(elasticsearch, retired, request)) > 0) {
    if (Date.now() > givesUpAtMs) {
      report.step(`generation ${retired.number} is still read; the next rebuild removes it`)
      return
    }
    await sleep(pollMs, undefined, { signal })
  }
  const left = (await findAll(options)).find(({ complete }) => complete?.tag === retired.tag && !complete.isServing)
  if (left !== undefined) await deleteGeneration(elasticsearch, left, request)
  report.step(`generation ${retired.number} is removed`)
}
