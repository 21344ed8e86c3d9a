import { Command } from 'commander'
import { destination } from 'pino'
import { connectKafka } from '../../src/core/kafka/client.ts'
import { kafkaSource } from '../../src/core/kafka/source.ts'
import { createLog, summaryOf } from '../../src/core/process/log.ts'
import { configOrExit } from '../../src/core/process/service.ts'
import { connectElasticsearch, connectElasticsearchBytes } from '../../src/core/stores/elasticsearch.ts'
import { connectConfiguredRedis, untilConnected } from '../../src/core/stores/redis.ts'
import { reportTo } from '../terminalReport.ts'
import { rebuild } from './rebuild.ts'
import type { RebuildReport } from './rebuildPipeline.ts'
import type { Comparison } from './reconcile.ts'

new Command('rebuild')
  .description('builds every index anew from Kafka beside the live one, then leads readers to it in one step')
  .allowExcessArguments(false)
  .parse()

const config = await configOrExit(['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL'])
const log = createLog({ name: 'rebuild', level: 'error' }, destination({ fd: 2, sync: true }))
const stop = new AbortController()
const onSignal = (): void => stop.abort(new Error('stopped; run it again to go on'))
process.once('SIGINT', onSignal).once('SIGTERM', onSignal)

const elasticsearch = connectElasticsearch(config)
const raw = connectElasticsearchBytes(config)
const redis = connectConfiguredRedis(config, () => undefined)
const source = kafkaSource(connectKafka(config, log))
const terminal = reportTo(process.stderr)
const report: RebuildReport = {
  ...terminal,
  compared: (comparisons) => {
    for (const [kind, comparison] of Object.entries(comparisons)) terminal.step(describe(kind, comparison))
  },
}
try {
  await untilConnected(redis, stop.signal)
  await rebuild({ config, source, elasticsearch, raw, redis, report, log, signal: stop.signal })
} catch (error) {
  terminal.end()
  process.stderr.write(`rebuild: ${summaryOf(stop.signal.aborted ? stop.signal.reason : error)}\n`)
  process.exitCode = 1
} finally {
  terminal.end()
  await Promise.allSettled([source.close(), elasticsearch.close(), raw.close(), redis.close()])
}

// A pipeline that did not stop in time ends here.
process.exit()

function describe(kind: string, { documents, reconciled, newerInTarget }: Comparison): string {
  return `${kind}: ${documents} documents, ${reconciled} reconciled, ${newerInTarget} newer already`
}
