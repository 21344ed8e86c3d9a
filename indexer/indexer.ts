import {
  accountKeysAreComplete,
  elasticsearchAnswers,
  isolatedNodesAnswerNothing,
  kafkaAnswers,
  redisAnswers,
} from '../src/core/engines/readinessChecks.ts'
import { type Check, type CheckOutcome, type Checks, failed, passed } from '../src/core/monitoring/health.ts'
import { type Service, type Started, serviceCommand } from '../src/core/process/lifecycle.ts'
import { openKafka, openStores } from '../src/core/process/openStores.ts'
import { AccountKeys } from './accountKeys.ts'
import { Retries } from './backoff.ts'
import { DeadLetterWriter } from './deadLetters/deadLetters.ts'
import { GenerationRunner } from './generations/generationRunner.ts'
import type { Stores } from './generations/writtenGeneration.ts'
import { pipelineMetrics } from './metrics.ts'
import type { PipelineHealth } from './pipeline.ts'
import { indexerMetrics } from './status/indexerMetrics.ts'
import { observe } from './status/observe.ts'
import { stateOf } from './status/ownState.ts'
import { statusPages } from './status/statusPage.ts'
import { checkDeadLetterSize, ensureTopics, sourceTopics } from './topics.ts'

/**
 * Starts an indexer: it moves records into the indices (`GenerationRunner`), and account keys into Redis (`AccountKeys`). It stops in this order:
 * 1. `signal` aborts: fetching ends.
 * 2. The pipeline shuts down: it writes the records in flight, and commits.
 * 3. `closing` aborts, which ends the retries: `release` runs last what was registered first.
 */
export async function startIndexer(service: Service): Promise<Started> {
  const { config, engines, log, signal, release, fail } = service
  const closing = new AbortController()
  release('waiting', async () => closing.abort())
  const elasticsearch = engines.elasticsearch(config)
  const { redis, accountKeys: store } = openStores(service, elasticsearch)
  const { openSource, sink } = openKafka(service)
  const source = openSource()

  const stores: Stores = { config, elasticsearch, redis }
  const retries = new Retries(log, Math.random, closing.signal)
  const deadLetterRetries = new Retries(log, Math.random, closing.signal)
  const deadLetters = new DeadLetterWriter({ sink, config, log, retries: deadLetterRetries })
  const accountKeys = new AccountKeys({ config, source, sink, store, retries, log, signal })
  const metrics = pipelineMetrics(service.metrics, sourceTopics(config))
  const runner = new GenerationRunner({
    config,
    elasticsearch,
    redis,
    source,
    accountKeys,
    deadLetters,
    metrics,
    retries,
    log,
    fail,
    clock: Date.now,
    stopping: signal,
    closing: closing.signal,
  })
  const ownState = () => stateOf(config, runner, deadLetters)
  const observer = observe(
    { ...stores, source: openSource(), own: ownState },
    { clock: Date.now, signal: closing.signal },
  )
  indexerMetrics(service.metrics, ownState, observer.observed, () => accountKeys.contested, Date.now)

  const run = async (): Promise<void> => {
    const rules = await retries.untilDone('preparing topics', () => ensureTopics(source, config, log))
    await Promise.all([runner.run(rules), accountKeys.keepComplete()])
  }
  run().catch((error: unknown) => {
    if (!signal.aborted) fail(error)
  })
  release('pipeline', async () => runner.current?.pipeline.shutDown())

  return {
    checks: {
      elasticsearch: elasticsearchAnswers(elasticsearch, config.INDEX_PREFIX),
      cluster: isolatedNodesAnswerNothing(elasticsearch),
      kafka: kafkaAnswers(source),
      redis: redisAnswers(redis),
      'account keys': accountKeysAreComplete(store, () => accountKeys.replayError),
      ...pipelineChecks(runner, retries),
      ...deadLetterChecks(deadLetters, deadLetterRetries, () => checkDeadLetterSize(source, config)),
    },
    pages: (health) => statusPages({ own: ownState, ...observer, health, clock: Date.now }),
  }
}

function pipelineChecks(runner: GenerationRunner, retries: Retries): Checks {
  // Without a pipeline, `preparation` fails.
  const checkOf = (name: keyof PipelineHealth): Check => {
    return async () => runner.current?.pipeline.health()[name] ?? passed
  }
  return {
    preparation: async () => {
      const health = retries.health()
      return health.ok && runner.current === undefined ? failed('starting') : health
    },
    generation: async () => runner.current?.written.health() ?? passed,
    writer: checkOf('writer'),
    publisher: checkOf('publisher'),
    consumer: checkOf('consumer'),
    decoding: checkOf('decoding'),
    deletions: async () => runner.deletions(),
    logs: async () => runner.logs(),
  }
}

const deadLetterChecks = (
  deadLetters: DeadLetterWriter,
  retries: Retries,
  checkSize: () => Promise<CheckOutcome>,
): Checks => ({
  breaker: async () => deadLetters.health(),
  'dead letters': async () => {
    const health = retries.health()
    // While Kafka does not answer, only the check `kafka` fails.
    return health.ok ? await checkSize().catch(() => passed) : health
  },
})

export const command = serviceCommand({
  name: 'indexer',
  needs: ['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL'],
  adminPort: 9_102,
  start: (service) => {
    // Thousands of documents are made a second, of a few kilobytes each. Node takes only buffers of up to half of the pool's size (8 KiB in Node 22) from its
    // pool; allocating the others singly is slower.
    Buffer.poolSize = 256 * 1024
    return startIndexer(service)
  },
})
