import type { Admin, Producer } from 'kafkajs'
import type { Logger } from 'pino'
import type { Config } from '../src/core/process/config.ts'
import type { Service, Started } from '../src/core/process/service.ts'
import { connectElasticsearch } from '../src/core/stores/elasticsearch.ts'
import { openKafka } from '../src/core/stores/kafka.ts'
import { openStores } from '../src/core/stores/openStores.ts'
import {
  accountKeysAreComplete,
  elasticsearchAnswers,
  kafkaAnswers,
  redisAnswers,
} from '../src/core/stores/readinessChecks.ts'
import { withdrawWatermark } from '../src/core/stores/watermark.ts'
import { AccountKeyApplier } from './accountKeys/apply.ts'
import { AccountKeyReplay } from './accountKeys/replay.ts'
import { Retries } from './backoff.ts'
import { DeadLetterWriter } from './deadLetters/deadLetterWriter.ts'
import { GenerationRunner } from './generations/generationRunner.ts'
import type { Stores } from './generations/servedGeneration.ts'
import { indexerMetrics, type PipelineMetrics, pipelineMetrics } from './metrics.ts'
import { observe } from './status/observe.ts'
import { statusPages } from './status/statusPages.ts'
import { surveyMetrics } from './status/surveyMetrics.ts'
import { ensureTopics, sourceTopics } from './topics.ts'

/** Builds the indexer from its clients and starts it. It waits for engines that are unreachable. */
export async function startIndexer(service: Service): Promise<Started> {
  const { config, log, signal, release, fail } = service
  const closing = new AbortController()
  release('waiting', async () => closing.abort())
  const elasticsearch = connectElasticsearch(config)
  const { redis, redisKeys: keys, accountKeys: view } = openStores(service, elasticsearch)
  const { kafka, admin, producer } = openKafka(config, log, release)
  release('kafka producer', () => producer.disconnect())

  const stores: Stores = { config, elasticsearch, redis, keys }
  const retries = new Retries(log, Math.random, closing.signal)
  const deadLetters = new DeadLetterWriter({ producer, config, log, retries })
  release('breakers', async () => deadLetters.stop())
  const accountKeys = new AccountKeyApplier({ config, kafka, producer, store: view, deadLetters, retries })
  const replay = new AccountKeyReplay({ config, kafka, store: view, log, signal })
  const metrics = pipelineMetrics(service.metrics, sourceTopics(config))
  const signals = { stopping: signal, closing: closing.signal }
  const deps = { stores, kafka, admin, accountKeys, deadLetters, metrics, retries, log, fail }
  const runner = new GenerationRunner({ ...deps, ...signals })

  const own = ownState(config, runner, metrics)
  indexerMetrics(service.metrics, own)
  const observing = kafka.admin()
  release('kafka observer', () => observing.disconnect())
  const observed = { ...stores, admin: observing, serving: own.generation, watermarkMs: own.watermarkMs }
  const observer = observe(observed, { clock: Date.now, signal: closing.signal })
  surveyMetrics(service.metrics, observer.observed)

  const prepared = prepare({ admin, producer, stores, retries, log })
  prepared
    .then((hasAppendTimes) => Promise.all([runner.run(hasAppendTimes), replay.run()]))
    .catch((error: unknown) => {
      if (!signal.aborted) fail(error)
    })
  release('pipeline', () => runner.stop())

  return {
    checks: {
      elasticsearch: elasticsearchAnswers(elasticsearch, config.INDEX_PREFIX),
      kafka: kafkaAnswers(admin),
      redis: redisAnswers(redis),
      'account keys': accountKeysAreComplete(view, () => replay.blockedReason()),
      preparation: async () => retries.blockedReason() ?? (runner.hasStarted ? undefined : 'starting'),
      generation: async () => runner.notServingReason(),
      writer: async () => runner.blockedReasons().writer,
      publisher: async () => runner.blockedReasons().publisher,
      consumer: async () => runner.blockedReasons().consumer,
      decoding: async () => runner.blockedReasons().decoding,
      breaker: async () => deadLetters.blockedReason(),
    },
    pages: (health) => statusPages({ own, observer, health }),
  }
}

/** Connects to Kafka and prepares the topics. Resolves with whether the broker stamps append times: else no watermark is published. */
async function prepare(deps: {
  readonly admin: Admin
  readonly producer: Producer
  readonly stores: Stores
  readonly retries: Retries
  readonly log: Logger
}): Promise<boolean> {
  const { admin, producer, stores, retries, log } = deps
  await retries.untilDone('connecting to Kafka', async () => {
    await admin.connect()
    await producer.connect()
  })
  const hasAppendTimes = await retries.untilDone('preparing topics', () => ensureTopics(admin, stores.config, log))
  if (!hasAppendTimes)
    await retries.untilDone('withdrawing the watermark', () => withdrawWatermark(stores.redis, stores.keys))
  return hasAppendTimes
}

/** The state of this process, for its metrics and its status page. */
function ownState(config: Config, runner: GenerationRunner, metrics: PipelineMetrics) {
  return {
    startedAtMs: Date.now(),
    maxInFlightBytes: config.MAX_IN_FLIGHT_BYTES,
    inFlightBytes: () => runner.inFlightBytes(),
    watermarkMs: () => runner.watermarkMs(),
    clockOffsetMs: () => runner.clockOffsetMs(),
    lags: () => runner.lags(),
    generation: () => runner.generationNumber(),
    records: async () => (await metrics.records.get()).values,
    nowMs: Date.now,
  }
}
