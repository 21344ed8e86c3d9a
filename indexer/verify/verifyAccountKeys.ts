import { setTimeout as sleep } from 'node:timers/promises'
import type { EntityId, TeamId } from '../../src/core/model/ids.ts'
import { accountKeyStore } from '../../src/core/stores/accountKeyStore.ts'
import { readDeletedKeys, surveyAccountKeys } from '../../src/core/stores/accountKeySurvey.ts'
import { redisKeys } from '../../src/core/stores/redisKeys.ts'
import { AccountKeyFold } from './accountKeyFold.ts'
import { compareAccountKeys } from './compareAccountKeys.ts'
import type { Difference } from './difference.ts'
import { Pace } from './pace.ts'
import { verifyGroup } from './readRecords.ts'
import { NotJudged, type VerifyOptions } from './verifyOptions.ts'

/** A change reaches both Kafka and Redis within seconds; what still differs after so many comparisons was not under way. */
const comparisons = 5
const pauseMs = 1_000

/** Compares the account-key store in Redis with the topics. Returns how many live keys they hold. */
export async function verifyAccountKeys(
  options: VerifyOptions,
  onDifference: (difference: Difference) => void,
): Promise<number> {
  options.report.step('account keys in Redis are compared with the topics')
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
  const topics = [
    [config.TOPIC_ACCOUNT_KEYS, fold.apply.bind(fold)],
    [config.TOPIC_KEY_MEMORY, fold.applyMemory.bind(fold)],
  ] as const
  for (const [topic, apply] of topics)
    await source.readTopic({
      ...{ topic, groupId: verifyGroup(), signal },
      onRecord: async (record) => {
        apply(record)
        await pace.rest()
      },
    })
  const names = redisKeys(config.INDEX_PREFIX)
  const live = fold.live().filter(({ teamId }) => team === undefined || teamId === team)
  const teams = new Set([...fold.deleted.keys(), ...live.map(({ teamId }) => teamId)])
  const deleted = new Map<TeamId, ReadonlySet<EntityId>>()
  for (const teamId of teams)
    if (team === undefined || teamId === team) deleted.set(teamId, await readDeletedKeys(redis, names, teamId))
  const survey = await surveyAccountKeys(redis, names)
  return { keys: live.length, differences: compareAccountKeys(fold, { ...survey, deleted }, team) }
}
