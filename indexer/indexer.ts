import { setTimeout as sleep } from 'node:timers/promises'
import { randomToken } from '../src/core/model/ids.ts'
import type { Problem } from '../src/core/model/result.ts'
import { summaryOf } from '../src/core/process/log.ts'
import type { Service, Started } from '../src/core/process/service.ts'
import { connectElasticsearch } from '../src/core/stores/elasticsearch.ts'
import { openKafka } from '../src/core/stores/kafka.ts'
import { replaceChangeTokens } from '../src/core/stores/listVersions.ts'
import { openStores } from '../src/core/stores/openStores.ts'
import {
  accountKeysAreComplete,
  elasticsearchAnswers,
  kafkaAnswers,
  redisAnswers,
} from '../src/core/stores/readinessChecks.ts'
import { withdrawWatermark } from '../src/core/stores/watermark.ts'
import { keyChanges } from './accountKeys/apply.ts'
import { keepAccountKeysComplete, recordAt } from './accountKeys/replay.ts'
import { untilDone } from './backoff.ts'
import { fetchCommits, fetchEnds, fetchStarts, rebuildGroup } from './committedOffsets.ts'
import type { Assigned } from './consumer.ts'
import { Breaker } from './deadLetters/breaker.ts'
import { deadLetters, type WriteDeadLetter } from './deadLetters/deadLetters.ts'
import { ServedGeneration } from './generations/servedGeneration.ts'
import { indexerMetrics, pipelineMetrics } from './metrics.ts'
import { Pipeline } from './pipeline.ts'
import type { Lag } from './publisher.ts'
import type { SourceRecord } from './sourceRecord.ts'
import { observe } from './status/observe.ts'
import { statusPages } from './status/statusPages.ts'
import { surveyMetrics } from './status/surveyMetrics.ts'
import { documentTopics, ensureTopics, sourceTopics } from './topics.ts'

const digestHeld = { path: 'key.digest', rule: 'is held by another key' }

/** How often an indexer looks whether its generation of indices is still the one to write. */
const generationCheckMs = 1_000

/** Builds the indexer from its live clients and starts it. Engines may be away: it waits for them. */
export async function startIndexer(service: Service): Promise<Started> {
  const { config, log, signal, release, fail } = service
  const [clock, random] = [Date.now, Math.random]
  const closing = new AbortController()
  release('waiting', async () => closing.abort())
  const elasticsearch = connectElasticsearch(config)
  const { redis, redisKeys: keys, accountKeys: view } = openStores(service, elasticsearch)
  const { kafka, admin, producer } = openKafka(config, log, release)
  release('kafka producer', () => producer.disconnect())

  let waitingFor: string | undefined
  const wait = async <T>(what: string, attempt: () => Promise<T>, until = closing.signal): Promise<T> => {
    const onFailure = (error: unknown, attempts: number): void => {
      waitingFor = `${what}: ${summaryOf(error)}`
      log.warn({ err: error, attempts }, `${what} failed; trying again`)
    }
    return await untilDone(attempt, onFailure, AbortSignal.any([until, closing.signal]), random).finally(() => {
      waitingFor = undefined
    })
  }

  let served: ServedGeneration | undefined
  let pipeline: Pipeline | undefined
  const breakers = new Map(sourceTopics(config).map((topic) => [topic, new Breaker()]))
  release('breakers', async () => {
    for (const breaker of breakers.values()) breaker.close()
  })
  /** What keeps each part of the indexer from its work. */
  const troubles = {
    preparation: () => waitingFor ?? (pipeline === undefined ? 'starting' : undefined),
    generation: () => served?.trouble(),
    writer: () => pipeline?.troubles().writer,
    publisher: () => pipeline?.troubles().publisher,
    consumer: () => pipeline?.troubles().consumer,
    decoding: () => pipeline?.troubles().decoding,
    breaker: () => {
      const held = [...breakers].flatMap(([topic, { isOpen }]) => (isOpen ? [topic] : []))
      return held.length > 0 ? `nearly all records of ${held.join(', ')} are refused; held back` : undefined
    },
  }
  let lags: readonly Lag[] = []
  const metrics = pipelineMetrics(service.metrics, sourceTopics(config))
  const own = {
    startedAtMs: clock(),
    maxInFlightBytes: config.MAX_IN_FLIGHT_BYTES,
    inFlightBytes: () => pipeline?.inFlightBytes() ?? 0,
    watermarkMs: () => served?.watermarkMs,
    lags: () => lags,
    generation: () => served?.generation.number,
    records: async () => (await metrics.records.get()).values,
    nowMs: clock,
  }
  indexerMetrics(service.metrics, own)
  const observing = kafka.admin()
  release('kafka observer', () => observing.disconnect())
  const watched = { config, admin: observing, elasticsearch, redis, keys, serving: own.generation }
  const observer = observe({ ...watched, watermarkMs: own.watermarkMs }, { clock, signal: closing.signal })
  surveyMetrics(service.metrics, observer.observed)

  const send = deadLetters(producer, config.TOPIC_DEAD_LETTERS, clock)
  const writeDeadLetter: WriteDeadLetter = async (record, problem) => {
    await send(record, problem)
    const { topic, partition, offset } = record
    log.warn({ topic, partition, offset: String(offset), path: problem.path }, 'record set aside')
  }
  const refuse = async (
    record: SourceRecord,
    problem: Problem,
    { start }: Assigned,
    until: AbortSignal,
  ): Promise<'dead-letter' | 'stale'> => {
    const { topic, offset } = record
    if (offset < start.deadLetteredBelow) return 'stale'
    const breaker = breakers.get(topic)
    breaker?.judged(true)
    await breaker?.permit()
    await wait('setting a record aside', () => writeDeadLetter(record, problem), until)
    return 'dead-letter'
  }

  const keyTopics = { keys: config.TOPIC_ACCOUNT_KEYS, memory: config.TOPIC_KEY_MEMORY }
  const applyKeyChange = keyChanges({
    view,
    remember: async (messages) => {
      await producer.send({ topic: keyTopics.memory, acks: -1, messages })
    },
    writeDeadLetter: async (place, until) => {
      const record = await recordAt({ kafka, topic: keyTopics.keys, place, signal: until })
      if (record !== undefined) await writeDeadLetter(record, digestHeld)
    },
  })

  let hasAppendTimes = false
  const prepare = async (): Promise<void> => {
    await wait('connecting to Kafka', async () => {
      await admin.connect()
      await producer.connect()
    })
    hasAppendTimes = await wait('preparing topics', () => ensureTopics(admin, config, log))
    if (!hasAppendTimes) await wait('withdrawing the tidemark', () => withdrawWatermark(redis, keys))
  }

  const rebuilds = rebuildGroup(config.CONSUMER_GROUP)
  const openGeneration = async (): Promise<ServedGeneration> => {
    const own = await fetchCommits(admin, config.CONSUMER_GROUP, documentTopics(config))
    const rebuilt = await fetchCommits(admin, rebuilds, documentTopics(config))
    const commits = { own: own.values(), rebuilt: rebuilt.values() }
    return await ServedGeneration.open({ config, elasticsearch, redis, keys }, commits, clock, closing.signal)
  }

  const openPipeline = (current: ServedGeneration): Pipeline => {
    let everyPartition: string[] = []
    const documents = documentTopics(config)
    return new Pipeline({
      config,
      kafka,
      elasticsearch,
      generation: current.generation,
      groupId: config.CONSUMER_GROUP,
      topics: sourceTopics(config),
      starts: (partitions) =>
        fetchStarts(admin, partitions, {
          topics: sourceTopics(config),
          groupId: config.CONSUMER_GROUP,
          rebuildGroupId: rebuilds,
          generationOf: (topic) => (documents.includes(topic) ? current.generation.tag : undefined),
        }),
      ends: async () => {
        const ends = await fetchEnds(admin, sourceTopics(config))
        // A topic may be given more partitions at any time; until someone reads them, they hold the watermark back.
        everyPartition = [...ends].flatMap(([name, { topic }]) => (documents.includes(topic) ? [name] : []))
        return ends
      },
      refuse,
      applyKey: async (change, record, until) => {
        const applied = await wait('applying an account key', () => applyKeyChange(change, record, until), until)
        if (applied === 'digest-held') return digestHeld
        return applied === 'applied' ? 'indexed' : 'stale'
      },
      onAccepted: ({ topic }) => breakers.get(topic)?.judged(false),
      replaceChangeTokens: (lists) => replaceChangeTokens(redis, keys, lists, randomToken),
      publish: async (marks) => {
        if (!hasAppendTimes) return await current.serveWithoutWatermark()
        const relevant = new Map([...marks].filter(([name]) => everyPartition.includes(name)))
        return await current.publish(everyPartition, relevant)
      },
      onLag: (each) => {
        lags = each
      },
      metrics,
      log,
      clock,
      random,
      fail,
    })
  }

  /** One generation of indices after the other, each until it is retired or lost, or the process is asked to stop. */
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      served = await wait('preparing indices', openGeneration, signal)
      log.info({ generation: served.generation.number }, 'writing')
      pipeline = openPipeline(served)
      const over = new AbortController()
      const watching = watch(served, over)
      await pipeline.run(AbortSignal.any([signal, over.signal]))
      over.abort()
      await watching
      if (signal.aborted) return
      log.info({ generation: served.generation.number }, 'generation is retired or lost')
      await pipeline.leave().catch((error: unknown) => log.warn({ err: error }, 'left without a last commit'))
    }
  }
  const watch = async (current: ServedGeneration, over: AbortController): Promise<void> => {
    const ended = AbortSignal.any([signal, over.signal])
    while (!ended.aborted) {
      await sleep(generationCheckMs, undefined, { signal: ended }).catch(() => undefined)
      const isCurrent = ended.aborted || (await current.isCurrent().catch(() => true))
      if (!isCurrent) over.abort()
    }
  }

  let keyViewObstacle: string | undefined
  const onObstacle = (obstacle: string | undefined): void => {
    keyViewObstacle = obstacle
  }
  const running = prepare().then(() =>
    Promise.all([run(), keepAccountKeysComplete({ kafka, topics: keyTopics, view, log, signal, onObstacle })]),
  )
  running.catch((error: unknown) => {
    if (!signal.aborted) fail(error)
  })
  release('pipeline', async () => await pipeline?.leave())

  const partChecks = Object.entries(troubles).map(([part, trouble]) => [part, async () => trouble()] as const)
  return {
    checks: {
      elasticsearch: elasticsearchAnswers(elasticsearch, config.INDEX_PREFIX),
      kafka: kafkaAnswers(admin),
      redis: redisAnswers(redis),
      'account keys': accountKeysAreComplete(view, () => keyViewObstacle),
      ...Object.fromEntries(partChecks),
    },
    pages: (health) => statusPages({ own, observer, health }),
  }
}
