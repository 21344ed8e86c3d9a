import { setTimeout as sleep } from 'node:timers/promises'
import { accountKeyStore, surveyAccountKeys } from '../../src/core/stores/accountKeyStore.ts'
import { redisKeys } from '../../src/core/stores/redisKeys.ts'
import { AccountKeyFold, type FoldedKey } from './accountKeyFold.ts'
import { compareAccountKeys } from './compareAccountKeys.ts'
import type { Difference } from './difference.ts'
import { Pace } from './pace.ts'
import { verifyGroup } from './readRecords.ts'
import { NotJudged, type VerifyOptions } from './verifyOptions.ts'

/** A change reaches both Kafka and Redis within seconds; what still differs after so many comparisons was not under way. */
const comparisons = 5
const pauseMs = 1_000

/** Compares the account-key store in Redis with the topic. Returns how many live keys it holds. */
export async function verifyAccountKeys(
  options: VerifyOptions,
  onDifference: (difference: Difference) => void,
): Promise<number> {
  options.report.step('account keys in Redis are compared with their topic')
  const runId = await expectComplete(options)
  const first = await compareOnce(options)
  let lasting = first.differences
  for (let done = 1; lasting.size > 0 && done < comparisons; done++) {
    await sleep(pauseMs, undefined, { signal: options.signal })
    const { differences } = await compareOnce(options)
    lasting = new Map([...differences].filter(([name]) => lasting.has(name)))
  }
  if ((await expectComplete(options)) !== runId) throw new NotJudged('Redis was restarted meanwhile')
  for (const difference of lasting.values()) onDifference(difference)
  return first.keys
}

/** Returns the run of Redis, in which the account-key store is complete. */
async function expectComplete({ redis, config }: VerifyOptions): Promise<string | undefined> {
  if (!(await accountKeyStore(redis, redisKeys(config.INDEX_PREFIX)).isComplete()))
    throw new NotJudged('the account-key store is not complete: an indexer replays the keys')
  return redis.runId()
}

async function compareOnce(
  options: VerifyOptions,
): Promise<{ readonly keys: number; readonly differences: Map<string, Difference> }> {
  const { config, source, redis, team, signal } = options
  const pace = new Pace(signal)
  const fold = new AccountKeyFold()
  await source.readTopic({
    ...{ topic: config.TOPIC_ACCOUNT_KEYS, groupId: verifyGroup(), signal },
    onRecord: async (record) => {
      fold.apply(record)
      await pace.rest()
    },
  })
  const isJudged = ({ teamId, newest }: FoldedKey): boolean =>
    newest[0].key !== null && (team === undefined || teamId === team)
  const survey = await surveyAccountKeys(redis, redisKeys(config.INDEX_PREFIX))
  return { keys: fold.keys().filter(isJudged).length, differences: compareAccountKeys(fold, survey, team) }
}
