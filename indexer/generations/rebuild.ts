import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { documentKinds } from '../../src/core/stores/indices.ts'
import { redisKeys } from '../../src/core/stores/redisKeys.ts'
import {
  acquireWatermarkHold,
  extendWatermarkHold,
  readHighestWatermark,
  releaseWatermarkHold,
  setWatermarkGeneration,
} from '../../src/core/stores/watermark.ts'
import { rebuildGroup } from '../committedOffsets.ts'
import { refreshEveryCopy } from '../refresh.ts'
import { documentTopics, readTopicRules } from '../topics.ts'
import { ForgottenEntities, purelyCompacted } from './forgotten.ts'
import { readersOf, rebuildSteps } from './foundState.ts'
import { next } from './generationState.ts'
import {
  blockWrites,
  createGeneration,
  findGenerations,
  type Generation,
  serveGeneration,
  unblockWrites,
} from './generations.ts'
import { pruneRetired, pruneUnfinished } from './prune.ts'
import { raiseUnseen } from './raiseUnseen.ts'
import type { RebuildOptions } from './rebuildOptions.ts'
import { type RebuildPipeline, startRebuildPipeline } from './rebuildPipeline.ts'
import { reconcileAll } from './reconcileAll.ts'

const requestTimeoutMs = 30_000
/** A rebuild that was killed stays a member of its group until its session times out. */
const groupDeadlineMs = 20_000
/** How often it is looked for another rebuild. */
const otherCheckMs = 5_000
const pollMs = 250
/** The longest time for which a killed rebuild keeps the watermark from advancing. */
const maxHoldMs = 10_000
/** Shorter than the hold: after a later response the watermark may have advanced. */
const switchTimeoutMs = 5_000
const switchDeadlineMs = 20_000

/**
 * Builds a new generation of indices from Kafka beside the one in service, copies what only the old one still has, and switches
 * the read aliases in one request. A rebuild that was killed at any point can be run again: it continues, or cleans up.
 */
export async function rebuild(options: RebuildOptions): Promise<void> {
  const { report } = options
  const serving = await servingGeneration(options)
  await expectAlone(options)
  await pruneUnfinished(options, serving)
  const target = await openTarget(options, serving)
  report.step(`generation ${target.number} is built beside generation ${serving.number}`)

  const rules = await readTopicRules(options.source, options.config)
  const failed = new AbortController()
  const pipeline = startRebuildPipeline({
    ...options,
    generation: target,
    keptMs: rules.keptMs,
    fail: (error) => failed.abort(error),
  })
  try {
    await switchOver(
      { ...options, signal: AbortSignal.any([options.signal, failed.signal]) },
      { pipeline, serving, target, forgotten: new ForgottenEntities(purelyCompacted(options.config, rules)) },
    )
  } catch (error) {
    failed.signal.throwIfAborted()
    throw error
  } finally {
    await pipeline.stop()
  }
  await pruneRetired(options, serving)
}

type Switch = {
  readonly pipeline: RebuildPipeline
  readonly serving: Generation
  readonly target: Generation
  readonly forgotten: ForgottenEntities
}

/** Ends what it has begun when `signal` aborts, at any point. */
async function switchOver(options: RebuildOptions, { pipeline, serving, target, forgotten }: Switch): Promise<void> {
  const { config, elasticsearch, redis, report, signal } = options
  await readToTheEnd(options, pipeline, 'in the background')
  const reconciliation = await reconcileAll(options, serving, target, forgotten)
  const keys = redisKeys(config.INDEX_PREFIX)
  const holder = randomUUID()
  report.step('switching')
  if (!(await acquireWatermarkHold(redis, keys, holder, maxHoldMs)))
    throw new Error('the watermark is held by another rebuild')
  const extendHold = async (): Promise<void> => {
    if (!(await extendWatermarkHold(redis, keys, holder, maxHoldMs)))
      throw new Error('the hold on the watermark has expired')
  }
  const request = { signal, requestTimeout: switchTimeoutMs }
  let isSwitched = false
  try {
    // No watermark is published from here on.
    const watermarkMs = await readHighestWatermark(redis, keys)
    // Records that only the new generation holds get no `changedAt` below the last watermark that readers know.
    if (watermarkMs !== undefined) pipeline.startChangesAt(watermarkMs)
    const readBefore = await options.source.offsetRanges(documentTopics(config))
    await readToTheEnd(options, pipeline, 'before the deadline', extendHold)
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
    await setWatermarkGeneration(redis, keys, target.tag, undefined)
  } catch (error) {
    const last = { ...request, signal: AbortSignal.timeout(switchTimeoutMs) }
    // What failed first is told. Indexers give the writes back once the hold has expired.
    if (!isSwitched) await unblockWrites(elasticsearch, config.INDEX_PREFIX, serving, last).catch(() => undefined)
    throw error
  } finally {
    await releaseWatermarkHold(redis, keys, holder).catch(() => undefined)
  }
  report.step(`generation ${target.number} serves`)
}

/** Throws when an old index has more documents than the new one, counted by Elasticsearch. */
async function expectNoFewerDocuments(
  { elasticsearch, signal }: RebuildOptions,
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

async function servingGeneration({ config, elasticsearch, signal }: RebuildOptions): Promise<Generation> {
  const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, { signal, requestTimeout: requestTimeoutMs })
  const serving = found.find(({ complete }) => complete?.isServing)?.complete
  if (serving === undefined) throw new Error('no indices serve yet: an indexer builds the first ones by itself')
  return serving
}

async function expectServing({ config, elasticsearch, signal }: RebuildOptions, old: Generation): Promise<void> {
  const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, { signal, requestTimeout: requestTimeoutMs })
  const event = readersOf(found, old)
  if (next('held', event).to !== 'held') throw new Error(`generation ${old.number} is written no longer: ${event}`)
}

async function expectAlone({ source, config, signal }: RebuildOptions): Promise<void> {
  const givesUpAtMs = Date.now() + groupDeadlineMs
  for (;;) {
    if ((await source.groupMembers(rebuildGroup(config.CONSUMER_GROUP))).length === 0) return
    if (Date.now() > givesUpAtMs) throw new Error('another rebuild is running')
    await sleep(pollMs, undefined, { signal })
  }
}

/**
 * Throws when the group has had another member for so long that it cannot be one that was killed: two rebuilds that have begun at once
 * share the partitions, and each would wait for those of the other for ever.
 */
function createOtherCheck(source: KafkaSource, group: string): () => Promise<void> {
  let [checkedAtMs, aloneAtMs] = [Date.now(), Date.now()]
  return async () => {
    if (Date.now() - checkedAtMs < otherCheckMs) return
    checkedAtMs = Date.now()
    if ((await source.groupMembers(group)).length <= 1) aloneAtMs = checkedAtMs
    if (checkedAtMs - aloneAtMs > groupDeadlineMs) throw new Error('another rebuild has begun as well: run one again')
  }
}

/** The unfinished generation of an interrupted rebuild, or a new one. */
async function openTarget({ config, elasticsearch, signal }: RebuildOptions, serving: Generation): Promise<Generation> {
  const request = { signal, requestTimeout: requestTimeoutMs }
  const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, request)
  const unfinished = found.find((each) => rebuildSteps(each, serving).includes('fill'))
  const number = unfinished?.number ?? 1 + Math.max(...found.map((each) => each.number))
  return await createGeneration(elasticsearch, config, number, request)
}

/** Waits until every record that is in the topics now is searchable in the new generation. */
async function readToTheEnd(
  { source, config, report, signal }: RebuildOptions,
  pipeline: RebuildPipeline,
  pace: 'in the background' | 'before the deadline',
  extendHold?: () => Promise<void>,
): Promise<void> {
  const ends = await source.offsetRanges(documentTopics(config))
  const total = [...ends.values()].reduce((sum, { low, high }) => sum + Number(high - low), 0)
  const givesUpAtMs = Date.now() + switchDeadlineMs
  const expectNoOther = createOtherCheck(source, rebuildGroup(config.CONSUMER_GROUP))
  let [before, reported] = ['', '']
  for (;;) {
    const positions = new Map(pipeline.positions().map((each) => [partitionName(each), each.position]))
    const left = [...ends].map(([name, { low, high }]) => Math.max(0, Number(high - (positions.get(name) ?? low))))
    const done = total - left.reduce((sum, each) => sum + each, 0)
    if (pace === 'in the background') report.progress('records read', done, total)
    if (done === total && [...ends.keys()].every((name) => positions.has(name))) return
    if (pace === 'before the deadline' && Date.now() > givesUpAtMs)
      throw new Error('the new generation does not reach the end of the topics in time')
    const reasons = pipeline.blockedReasons().join('; ')
    if (reasons !== '' && reasons === before && reasons !== reported) {
      report.step(`waiting: ${reasons}`)
      reported = reasons
    }
    before = reasons
    await expectNoOther()
    await sleep(pollMs, undefined, { signal })
    if (pace === 'before the deadline') pipeline.publish()
    await extendHold?.()
  }
}
