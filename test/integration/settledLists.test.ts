import { digestOf } from '../../src/core/model/accountKey.ts'
import { type EntityId, randomToken, type TeamId, teamList } from '../../src/core/model/ids.ts'
import { AccountKeyStore } from '../../src/core/stores/accountKeyStore.ts'
import type { GenerationTag } from '../../src/core/stores/indices.ts'
import { shareLookups } from '../../src/core/stores/keyLookups.ts'
import { type Freshness, readListVersions } from '../../src/core/stores/listVersions.ts'
import { publishVisiblePositions } from '../../src/core/stores/visiblePositions.ts'
import { acquireWatermarkHold, releaseWatermarkHold, setWatermarkGeneration } from '../../src/core/stores/watermark.ts'
import { keyState } from '../support/entities.ts'
import { useRedis } from '../support/redisPair.ts'
import { visibleRound } from '../support/visibleRound.ts'

const [acme, other] = ['acme' as TeamId, 'other' as TeamId]
const plaintext = 'rqp_acct_one'

const redis = useRedis()
const store = new AccountKeyStore(redis)
beforeEach(async () => {
  await (await store.beginReplay('first')).complete()
  await store.apply(acme, 'k1' as EntityId, keyState({ digest: digestOf(plaintext) }))
  await setWatermarkGeneration(redis, '1-0123456789abcdef' as GenerationTag, undefined)
  await redis.client.hset(redis.keys.watermark, { published: '1000', run: redis.runId() })
})

/** The freshness of the team's lists, as a look-up of its key finds it. */
async function lookedUp(): Promise<Freshness> {
  const lookup = await shareLookups(redis)(digestOf(plaintext))
  if (lookup === 'incomplete' || lookup.found === null) throw new Error('the key was not found')
  return lookup.freshness
}
const settledOf = async (team: TeamId): Promise<Freshness['settled']> =>
  (await readListVersions(redis, team, randomToken)).settled

test('a list is not settled while a write may become visible before its change token is replaced', async () => {
  const pending = redis.keys.pendingWrites(teamList('submissions', acme))
  await redis.client.hset(pending, 'submissions/0', 'claim-1', 'submissions/1', 'claim-2')
  expect((await lookedUp()).settled).toEqual({ forms: true, submissions: false })
  expect(await settledOf(other)).toEqual({ forms: true, submissions: true })
  await redis.client.hdel(pending, 'submissions/0')
  expect((await lookedUp()).settled).toEqual({ forms: true, submissions: false })
  await redis.client.hdel(pending, 'submissions/1')
  expect((await lookedUp()).settled).toEqual({ forms: true, submissions: true })
})

test('a list is not settled while a rebuild is about to switch', async () => {
  await acquireWatermarkHold(redis, 'rebuild', 10_000)
  expect((await lookedUp()).settled).toEqual({ forms: false, submissions: false })
  expect(await settledOf(other)).toEqual({ forms: false, submissions: false })
  await releaseWatermarkHold(redis, 'rebuild')
  expect((await lookedUp()).settled).toEqual({ forms: true, submissions: true })
})

test.each([{ published: '1000', run: 'earlier' }, {}])('no list is settled without a watermark: %j', async (known) => {
  await redis.client.hdel(redis.keys.watermark, 'published', 'run')
  if (Object.keys(known).length > 0) await redis.client.hset(redis.keys.watermark, known)
  expect((await lookedUp()).settled).toEqual({ forms: false, submissions: false })
})

test('the look-up of a key finds the freshness of the lists of its team, also after Redis has forgotten its scripts', async () => {
  const read = await readListVersions(redis, acme, randomToken)
  expect(await lookedUp()).toEqual(read)
  await redis.client.script('FLUSH')
  expect(await lookedUp()).toEqual(read)
})

test('the look-up of a key gives each list a version that has none', async () => {
  await publishVisiblePositions(
    redis,
    visibleRound({ partitions: [{ type: 'forms', partition: 0, from: 0n, to: 0n, timeMs: 0 }] }),
  )
  const { versions } = await lookedUp()
  expect(versions).toEqual({ forms: expect.any(String), submissions: expect.any(String) })
  await redis.client.del(redis.keys.changeToken(teamList('forms', acme)))
  const again = await lookedUp()
  expect(again.versions.submissions).toBe(versions.submissions)
  expect(again.versions.forms).not.toBe(versions.forms)
  expect((await lookedUp()).versions).toEqual(again.versions)
})
