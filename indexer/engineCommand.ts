import type { Client } from '@elastic/elasticsearch'
import { destination, type Logger } from 'pino'
import { connectKafka } from '../src/core/kafka/client.ts'
import { type KafkaSource, kafkaSource } from '../src/core/kafka/source.ts'
import type { Config } from '../src/core/process/config.ts'
import { createLog, summaryOf } from '../src/core/process/log.ts'
import { reportTo, type TerminalReport } from '../src/core/process/progressBar.ts'
import { configOrExit } from '../src/core/process/service.ts'
import { connectElasticsearch, connectElasticsearchBytes } from '../src/core/stores/elasticsearch.ts'
import { connectRedis, type RedisConnection, untilConnected } from '../src/core/stores/redis.ts'

/** What a command works with that needs every engine. */
export type CommandTools = {
  readonly config: Config
  readonly source: KafkaSource
  readonly elasticsearch: Client
  /** A client that returns bytes. */
  readonly raw: Client
  readonly redis: RedisConnection
  readonly report: Omit<TerminalReport, 'end'>
  readonly log: Logger
  /** Aborts when the process is asked to stop. */
  readonly signal: AbortSignal
}

/**
 * Runs a command on the engines of the environment, and closes them. `run` returns what the command prints and its exit code. When it fails,
 * or is asked to stop, stderr says why after `failed.prefix`, and the exit code is `failed.code`.
 */
export async function runEngineCommand(
  name: string,
  failed: { readonly prefix: string; readonly code: number; readonly stopped: string },
  run: (tools: CommandTools) => Promise<{ readonly output: string; readonly code: number }>,
): Promise<void> {
  const config = await configOrExit(['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL'])
  const log = createLog({ name, level: 'error' }, destination({ fd: 2, sync: true }))
  const stop = new AbortController()
  const onSignal = (): void => stop.abort(new Error(failed.stopped))
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  const elasticsearch = connectElasticsearch(config)
  const raw = connectElasticsearchBytes(config)
  const redis = connectRedis(config, () => undefined)
  const source = kafkaSource(connectKafka(config, log))
  const report = reportTo(process.stderr)
  try {
    await untilConnected(redis, stop.signal)
    const { output, code } = await run({ config, source, elasticsearch, raw, redis, report, log, signal: stop.signal })
    report.end()
    process.stdout.write(output)
    process.exitCode = code
  } catch (error) {
    report.end()
    process.stderr.write(`${failed.prefix}${summaryOf(stop.signal.aborted ? stop.signal.reason : error)}\n`)
    process.exitCode = failed.code
  }
  await Promise.allSettled([source.close(), elasticsearch.close(), raw.close(), redis.close()])
}
