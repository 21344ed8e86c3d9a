import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { randomToken } from '../../src/core/model/ids.ts'
import { documentKinds } from '../../src/core/stores/indices.ts'
import { redisKeys } from '../../src/core/stores/redisKeys.ts'
import {
  acquireWatermarkHold,
  extendWatermarkHold,
  releaseWatermarkHold,
  setWatermarkGeneration,
} from '../../src/core/stores/watermark.ts'
import { fetchEnds, fetchStarts, nameOf, rebuildGroup } from '../committedOffsets.ts'
import { pipelineMetrics } from '../metrics.ts'
import { Pipeline } from '../pipeline.ts'
import type { Lag } from '../publisher.ts'
import { documentTopics } from '../topics.ts'
import {
  allowWriting,
  createGeneration,
  type FoundGeneration,
  findGenerations,
  forbidWriting,
  type Generation,
  serveGeneration,
} from './generations.ts'
import { pruneRetired, pruneUnfinished } from './prune.ts'
import type { RebuildOptions } from './rebuildOptions.ts'
import { reconcileAll } from './reconcile.ts'

/** The pipeline that reads into the new generation, and how far it has come. */
type Reading = { readonly pipeline: Pipeline; lags(): readonly Lag[] }

const requestTimeoutMs = 30_000
/** A rebuild that was killed stays a member of its group until its session ends. */
const groupDeadlineMs = 20_000
const pollMs = 250
/** The watermark stands still no longer than this after a rebuild was killed. */
const maxHoldMs = 10_000
/** Shorter than the hold: when the answer comes too late, the watermark may have gone on. */
const switchTimeoutMs = 5_000
const switchDeadlineMs = 20_000

/**
 * Builds every index anew from Kafka beside the one that serves, carries over what only that one knows, and leads readers to
 * the new one in one step. Killed at any point and run again, it goes on where it was or cleans up what it left.
 */
export async function rebuild(options: RebuildOptions): Promise<void> {
  const { config, report } = options
  const serving = await servingGeneration(options)
  await expectAlone(options)
  await pruneUnfinished(options, serving)
  const target = await openTarget(options, serving)
  report.step(`generation ${target.number} is built beside generation ${serving.number}`)

  const topics = documentTopics(config)
  const groupId = rebuildGroup(config.CONSUMER_GROUP)
  let lags: readonly Lag[] = []
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  const over = new AbortController()
  const pipeline = new Pipeline({
    config,
    kafka: options.kafka,
    elasticsearch: options.elasticsearch,
    generation: target,
    groupId,
    topics,
    starts: (partitions) => fetchStarts(options.admin, partitions, { topics, groupId, generationOf: () => target.tag }),
    ends: () => fetchEnds(options.admin, topics),
    // What breaks the contract was, or will be, set aside by the indexer that serves.
    refuse: async () => 'stale',
    applyKey: async () => 'stale',
    onAccepted: () => undefined,
    replaceChangeTokens: async () => undefined,
    publish: async () => 'going-on',
    onLag: (each) => {
      lags = each
    },
    metrics: pipelineMetrics(new Registry(), topics),
    log: options.log,
    clock: Date.now,
    random: Math.random,
    fail: failed.reject,
  })
  const running = pipeline.run(AbortSignal.any([options.signal, over.signal]))
  running.catch(failed.reject)
  try {
    await Promise.race([failed.promise, switchOver(options, { pipeline, lags: () => lags }, serving, target)])
  } finally {
    over.abort()
    await running.catch(() => undefined)
    await pipeline.leave().catch((error: unknown) => options.log.warn({ err: error }, 'left without a last commit'))
  }
  await pruneRetired(options, serving)
}

async function switchOver(
  options: RebuildOptions,
  reading: Reading,
  serving: Generation,
  target: Generation,
): Promise<void> {
  const { config, elasticsearch, redis, report, signal } = options
  await readToTheEnd(options, reading, 'as it goes')
  const carryOver = await reconcileAll(options, serving, target)
  const keys = redisKeys(config.INDEX_PREFIX)
  const holder = randomToken()
  report.step('switching')
  if (!(await acquireWatermarkHold(redis, keys, holder, maxHoldMs)))
    throw new Error('the watermark is held by another rebuild')
  const stillHeld = async (): Promise<void> => {
    if (!(await extendWatermarkHold(redis, keys, holder, maxHoldMs))) throw new Error('the watermark went on meanwhile')
  }
  const request = { signal, requestTimeout: switchTimeoutMs }
  let isDone = false
  try {
    await readToTheEnd(options, reading, 'at once', stillHeld)
    await carryOver.pass()
    await stillHeld()
    await expectServing(options, serving)
    // From here to the switch nothing is written to the old generation, so that readers find all of it in the new one.
    await forbidWriting(elasticsearch, serving, request)
    await carryOver.pass()
    await elasticsearch.indices.refresh({ index: Object.values(target.indices) }, request)
    await expectAsMany(options, serving, target)
    await stillHeld()
    await serveGeneration(elasticsearch, config.INDEX_PREFIX, target, request)
    isDone = true
    await setWatermarkGeneration(redis, keys, target.tag, undefined)
  } finally {
    if (!isDone)
      await allowWriting(elasticsearch, serving, { ...request, signal: AbortSignal.timeout(switchTimeoutMs) })
    await releaseWatermarkHold(redis, keys, holder)
  }
  report.step(`generation ${target.number} serves`)
}

/** No fewer documents in the new indices, counted by Elasticsearch itself, than in the old. */
async function expectAsMany(
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

async function expectServing(options: RebuildOptions, serving: Generation): Promise<void> {
  const { tag } = await servingGeneration(options)
  if (tag !== serving.tag) throw new Error('another generation serves meanwhile')
}

async function expectAlone({ admin, config, signal }: RebuildOptions): Promise<void> {
  const givesUpAtMs = Date.now() + groupDeadlineMs
  for (;;) {
    const { groups } = await admin.describeGroups([rebuildGroup(config.CONSUMER_GROUP)])
    if (groups.every(({ members }) => members.length === 0)) return
    if (Date.now() > givesUpAtMs) throw new Error('another rebuild is running')
    await sleep(pollMs, undefined, { signal })
  }
}

/** The half made generation of a rebuild that was cut short, or a new one. */
async function openTarget({ config, elasticsearch, signal }: RebuildOptions, serving: Generation): Promise<Generation> {
  const request = { signal, requestTimeout: requestTimeoutMs }
  const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, request)
  const isHalfMade = ({ number, isOurs }: FoundGeneration): boolean => number > serving.number && isOurs
  const number = found.find(isHalfMade)?.number ?? 1 + Math.max(...found.map((each) => each.number))
  return await createGeneration(elasticsearch, config, number, request)
}

/** Waits until everything that is in the topics now is searchable in the new generation. */
async function readToTheEnd(
  { admin, config, report, signal }: RebuildOptions,
  { pipeline, lags }: Reading,
  pace: 'as it goes' | 'at once',
  stillHeld?: () => Promise<void>,
): Promise<void> {
  const ends = await fetchEnds(admin, documentTopics(config))
  const total = [...ends.values()].reduce((sum, { low, high }) => sum + Number(high - low), 0)
  const givesUpAtMs = Date.now() + switchDeadlineMs
  let [before, told] = ['', '']
  for (;;) {
    const positions = new Map(lags().map((lag) => [nameOf(lag), lag.position]))
    const left = [...ends].map(([name, { low, high }]) => Math.max(0, Number(high - (positions.get(name) ?? low))))
    const done = total - left.reduce((sum, each) => sum + each, 0)
    if (pace === 'as it goes') report.reach('records read', done, total)
    if (done === total && [...ends.keys()].every((name) => positions.has(name))) return
    if (pace === 'at once' && Date.now() > givesUpAtMs)
      throw new Error('the new generation does not reach the end of the topics in time')
    const troubles = Object.values(pipeline.troubles()).join('; ')
    if (troubles !== '' && troubles === before && troubles !== told) {
      report.step(`waiting: ${troubles}`)
      told = troubles
    }
    before = troubles
    await sleep(pollMs, undefined, { signal })
    // A round that fails tells so in the troubles, and is followed by another.
    if (pace === 'at once') await pipeline.publish().catch(() => undefined)
    await stillHeld?.()
  }
}
