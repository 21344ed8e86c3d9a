import { InvalidArgumentError } from 'commander'
import { destination, type Logger } from 'pino'
import { connectElasticsearch } from '../src/core/elasticsearch/elasticsearch.ts'
import { connectKafka } from '../src/core/kafka/client.ts'
import { type KafkaSource, kafkaSource } from '../src/core/kafka/source.ts'
import { type Branded, identifierRule, isIdentifier } from '../src/core/model/ids.ts'
import { createLog, summaryOf } from '../src/core/monitoring/log.ts'
import { configOrExit } from '../src/core/process/lifecycle.ts'
import { reportTo, type TerminalReport } from '../src/core/process/progressBar.ts'
import { onStopSignals } from '../src/core/process/stopSignals.ts'
import { connectRedis, untilConnected } from '../src/core/redis/redis.ts'
import type { Stores } from './generations/writtenGeneration.ts'

/** What a command on the engines, such as `erase`, gets. */
export type CommandTools = Stores & {
  readonly source: KafkaSource
  readonly report: TerminalReport
  readonly log: Logger
  /** Epoch ms. */
  readonly clock: () => number
  /** Aborts at SIGINT or SIGTERM. */
  readonly signal: AbortSignal
}

/**
 * Connects to the engines, runs a command, and closes the clients. If the command fails, or a signal stops it, prints the reason to stderr, and sets the exit
 * code `failedCode`.
 */
export async function runEngineCommand(
  name: string,
  run: (tools: CommandTools) => Promise<void>,
  failedCode = 1,
): Promise<void> {
  const config = await configOrExit(['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL'])
  const log = createLog({ name, level: 'error' }, destination({ fd: 2, sync: true }))
  const stop = new AbortController()
  const { signal } = stop
  onStopSignals(
    () => stop.abort(new Error('stopped: run it again')),
    // At a second signal, more than a second after the first one.
    () => process.exit(failedCode),
  )
  const elasticsearch = connectElasticsearch(config)
  const redis = connectRedis(config, () => undefined)
  const source = kafkaSource(connectKafka(config, log))
  const report = reportTo(process.stderr)
  try {
    await untilConnected(redis, signal)
    await run({ config, source, elasticsearch, redis, report, log, clock: Date.now, signal })
  } catch (error) {
    report.end()
    process.stderr.write(`${name}: ${summaryOf(signal.aborted ? signal.reason : error)}\n`)
    process.exitCode = failedCode
  }
  report.end()
  await Promise.allSettled([source.close(), elasticsearch.close(), redis.close()])
}

/** Parses the id of a team, form or submission. */
export function readIdentifier<Id extends Branded<string, 'TeamId' | 'EntityId'>>(text: string): Id {
  if (!isIdentifier(text)) throw new InvalidArgumentError(`must be ${identifierRule}`)
  return text as Id
}
