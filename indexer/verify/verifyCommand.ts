import { constants, setPriority } from 'node:os'
import { Command, InvalidArgumentError } from 'commander'
import { destination } from 'pino'
import { connectKafka } from '../../src/core/kafka/client.ts'
import { kafkaSource } from '../../src/core/kafka/source.ts'
import { identifierRule, isIdentifier, type TeamId } from '../../src/core/model/ids.ts'
import { createLog, summaryOf } from '../../src/core/process/log.ts'
import { configOrExit } from '../../src/core/process/service.ts'
import { connectElasticsearch, connectElasticsearchBytes } from '../../src/core/stores/elasticsearch.ts'
import { connectConfiguredRedis, untilConnected } from '../../src/core/stores/redis.ts'
import { reportTo } from '../terminalReport.ts'
import { Pace } from './verification.ts'
import { verify } from './verify.ts'

const exitCodes = { equal: 0, different: 1, notJudged: 2 }

const { team } = new Command('verify')
  .description('compares every document and account key with the topics, beside a running system')
  .option('--team <id>', 'compares only what belongs to this team', readTeam)
  .addHelpText('after', '\nExit code 0: equal. 1: with differences. 2: could not be judged.')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : exitCodes.notJudged))
  .allowExcessArguments(false)
  .parse()
  .opts<{ team?: TeamId }>()

const config = await configOrExit(['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL'])
const log = createLog({ name: 'verify', level: 'error' }, destination({ fd: 2, sync: true }))
// Its own exit code would say that there are differences.
process.on('uncaughtException', (error) => {
  process.stderr.write(`verify: not judged: ${summaryOf(error)}\n`)
  process.exit(exitCodes.notJudged)
})
const stop = new AbortController()
const onSignal = (): void => stop.abort(new Error('stopped'))
process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
// Whatever serves goes first.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

const elasticsearch = connectElasticsearch(config)
const raw = connectElasticsearchBytes(config)
const redis = connectConfiguredRedis(config, () => undefined)
const source = kafkaSource(connectKafka(config, log))
const report = reportTo(process.stderr)
try {
  await untilConnected(redis, stop.signal)
  const { isEqual, lines } = await verify({
    ...{ config, source, elasticsearch, raw, redis, team, report, signal: stop.signal },
    pace: new Pace(stop.signal),
  })
  report.end()
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
  process.exitCode = isEqual ? exitCodes.equal : exitCodes.different
} catch (error) {
  report.end()
  process.stderr.write(`verify: not judged: ${summaryOf(stop.signal.aborted ? stop.signal.reason : error)}\n`)
  process.exitCode = exitCodes.notJudged
} finally {
  report.end()
  await Promise.allSettled([source.close(), elasticsearch.close(), raw.close(), redis.close()])
}

function readTeam(text: string): TeamId {
  if (!isIdentifier(text)) throw new InvalidArgumentError(`must be ${identifierRule}`)
  return text as TeamId
}
