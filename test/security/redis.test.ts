import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { surveyAccountKeys } from '../../indexer/verify/compareAccountKeys.ts'
import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import { redisAnswers } from '../../src/core/engines/readinessChecks.ts'
import { appendPositionOf } from '../../src/core/kafka/sourceRecord.ts'
import { type AccountKeyState, digestOf } from '../../src/core/model/accountKey.ts'
import { documentId, type EntityId, type Revision, type TeamId, teamList } from '../../src/core/model/ids.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import { AccountKeyStore } from '../../src/core/redis/accountKeyStore.ts'
import { announceRebuild, readAnnouncedRebuild, withdrawRebuild } from '../../src/core/redis/announcedRebuild.ts'
import { countRequests } from '../../src/core/redis/countRequests.ts'
import { shareLookups } from '../../src/core/redis/keyLookups.ts'
import { countKeyUse } from '../../src/core/redis/keyUse.ts'
import { readVersionsOf } from '../../src/core/redis/listVersions.ts'
import { readLogStates, storeLogStates } from '../../src/core/redis/logStates.ts'
import { readFollowers } from '../../src/core/redis/readFollowers.ts'
import { readKeyUse } from '../../src/core/redis/readKeyUse.ts'
import { readVisibleList } from '../../src/core/redis/readVisiblePositions.ts'
import {
  forgetRebuildProgress,
  readRebuildProgress,
  storeRebuildProgress,
} from '../../src/core/redis/rebuildProgress.ts'
import { connectRedis, type RedisConnection } from '../../src/core/redis/redis.ts'
import { redisKeys } from '../../src/core/redis/redisKeys.ts'
import * as serving from '../../src/core/redis/serving.ts'
import { switchServing } from '../../src/core/redis/switchServing.ts'
import {
  forgetVisiblePositions,
  knowsDeletions,
  publishVisiblePositions,
} from '../../src/core/redis/visiblePositions.ts'
import { keyChange } from '../../src/settings/keyAudit.ts'
import { changeKeeper, readChanges } from '../../src/settings/recentChanges.ts'
import type { SettingsContext } from '../../src/settings/respond.ts'
import { createSessions } from '../../src/settings/sessions.ts'
import { usedTokens } from '../../src/settings/signIn.ts'
import { keyState } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { readFreshness } from '../support/freshness.ts'
import { closeAfterwards, useStarted } from '../support/lifecycle.ts'
import { ownNames } from '../support/names.ts'
import { killPrograms, refusalOf, runCommand, startProgram, untilReady } from '../support/programs.ts'
import { startRelay } from '../support/relay.ts'
import { readUsers, startSecuredRedis } from '../support/securedRedis.ts'
import { signInSettings } from '../support/signIns.ts'
import { useFolder } from '../support/temporaryFolder.ts'
import { visibleRound } from '../support/visibleRound.ts'

const names = ownNames()
const folder = useFolder()
const prefix = names.INDEX_PREFIX
const users = await readUsers(prefix)
const rulesOf = (user: string): string[] => users.find(([name]) => name === user)?.slice(1) ?? []
const keys = redisKeys(prefix)
const timeoutMs = 5_000
const [team, keyId] = ['acme' as TeamId, 'key-1' as EntityId]
const generation = '1-0123456789abcdef' as GenerationTag

const links = new Map<string, RedisConnection>()
afterAll(killPrograms)
const redis = useStarted('Redis', () => startSecuredRedis(prefix))
beforeAll(async () => {
  for (const [user = ''] of users) {
    const settings = { REDIS_URL: redis.urlOf(user), REDIS_CA_FILE: redis.ca, INDEX_PREFIX: prefix }
    const link = closeAfterwards(connectRedis(settings, () => undefined))
    await eventually(() => link.runId() !== undefined)
    links.set(user, link)
  }
})

const deleted = { revision: 3 as Revision, key: null }
const keyWith = (revision: number, plaintext: string, id: string = keyId): AccountKeyState =>
  keyState({ id, revision, digest: digestOf(plaintext) })

/** Everything that each process asks of Redis; what is undone before the next turn is undone by another hand. */
const works: Readonly<Record<string, (link: RedisConnection) => Promise<void>>> = {
  'tidemark-api': async (link) => {
    await new AccountKeyStore(link).isComplete()
    const lookUp = shareLookups(link, countRequests(link, 1))
    await lookUp(digestOf('plaintext'), Date.now())
    const use = countKeyUse(link, Date.now, () => 0)
    use.count({ teamId: team, keyId }, 200)
    use.noteFeed({ teamId: team, keyId }, 'forms', undefined)
    await use.share()
    await readFreshness(link, team, randomUUID)
    await readVersionsOf(link, [teamList('forms', team)])
    await readVisibleList(link, 'forms', team)
  },
  'tidemark-indexer': async (link) => {
    const view = new AccountKeyStore(link)
    const fold = await view.beginReplay(randomUUID())
    await view.apply(team, keyId, keyWith(1, 'first'), appendPositionOf({ partition: 0, offset: 0n }))
    await view.apply(team, keyId, keyWith(2, 'second'))
    await view.apply(team, 'key-3' as EntityId, keyWith(1, 'second', 'key-3'))
    await view.contestedDigests(1)
    for (const [id, position] of await view.readPositions()) await view.forget(id, position)
    await view.apply(team, 'key-3' as EntityId, deleted)
    await view.apply(team, keyId, deleted)
    await fold.complete()
    await view.isComplete()
    const rebuild = { tag: generation, holder: 'holder' }
    await announceRebuild(link, rebuild, 10_000)
    await readAnnouncedRebuild(link)
    await withdrawRebuild(link, rebuild)
    await storeRebuildProgress(link, { generation: 2, phase: 'fill', done: 1, total: 2, perSecond: null })
    await readRebuildProgress(link)
    await forgetRebuildProgress(link)
    await readFollowers(link, toInstant(0), 10, AbortSignal.timeout(timeoutMs))
    await serving.setServing(link, generation)
    await serving.readServing(link)
    await serving.redisTimeMs(link)
    await serving.acquireSwitchLock(link, 'holder', 10_000)
    await serving.extendSwitchLock(link, 'holder', 10_000)
    await serving.isSwitchLocked(link)
    await serving.releaseSwitchLock(link, 'holder')
    const round = visibleRound({ generation, lists: [teamList('forms', team)] })
    await publishVisiblePositions(link, round)
    await serving.acquireSwitchLock(link, 'holder', 10_000)
    const to = { tag: '2-0123456789abcdef' as GenerationTag, indices: round.indices }
    const reached = [{ type: 'forms' as const, partition: 0, to: 9n, timeMs: 9 }]
    const { cursorKeys } = round
    await switchServing(link, {
      holder: 'holder',
      from: generation,
      to,
      cursorKeys,
      reached,
      replaced: new Set(),
      mayLackDeletions: false,
    })
    await serving.setServing(link, generation)
    await knowsDeletions(link, generation)
    await storeLogStates(link, generation, new Map([['forms/0', 'replaced']]))
    await readLogStates(link, generation)
    await forgetVisiblePositions(link, '9-0123456789abcdef' as GenerationTag)
  },
  'tidemark-settings': async (link) => {
    const view = new AccountKeyStore(link)
    await view.reserve(team, keyId, Date.now() - 2, Date.now() - 1)
    await view.reserve(team, keyId, Date.now(), Date.now() + 1_000)
    await view.reserve(team, 'key-2' as EntityId, Date.now() + 2_000, Date.now() + 3_000)
    await view.apply(team, keyId, keyWith(1, 'first'))
    await view.apply(team, keyId, keyWith(2, 'second'))
    await view.list(team)
    await view.apply(team, 'key-3' as EntityId, keyWith(1, 'second', 'key-3'))
    await view.apply(team, 'key-3' as EntityId, deleted)
    await view.apply(team, keyId, deleted)
    await view.find(team, keyId)
    await view.lastUse(team)
    await readKeyUse(link, team, [keyId], Date.now())
    const change = keyChange('created', team, 'owner', { id: keyId }, Date.now())
    await changeKeeper(link, pino({ level: 'silent' }))(change)
    await readChanges(link, team)
    const sessions = createSessions(link, false)
    let id = ''
    const cookies = { get: () => undefined, set: (_name: string, value = '') => (id ||= value) }
    const visit = { state: {}, cookies } as unknown as SettingsContext
    await sessions.start(visit, { team, sub: 'owner' })
    await sessions.end(visit, { id })
    await usedTokens(link)(randomUUID())
  },
  'tidemark-verify': async (link) => {
    await new AccountKeyStore(link).isComplete()
    await surveyAccountKeys(link)
  },
  'tidemark-erase': async () => undefined,
}

/** What another process would have left there. */
async function layOut(): Promise<void> {
  await redis.keeper.flushall()
  // A script that Redis knows needs no `eval`.
  await redis.keeper.script('FLUSH')
  const runId = /^run_id:(\w+)/m.exec(await redis.keeper.info('server'))?.[1] ?? ''
  await redis.keeper.set(keys.accountKeysComplete, runId)
  await redis.keeper.set(keys.serving, generation)
  const holder = JSON.stringify({ teamId: team, keyId, state: 'active', expiresAtMs: null })
  await redis.keeper.hset(keys.accountKey(digestOf('plaintext')), `${team}/${keyId}`, holder)
  const [other, digest] = ['other' as TeamId, digestOf('of-another-team')]
  await redis.keeper.hset(keys.teamKeys(other), 'key-9', '{"revision":0,"reservedUntilMs":1}')
  await redis.keeper.hset(keys.deletedKeys(other), 'key-8', ' {"revision":2,"key":null}')
  const revoked = '{"teamId":"other","keyId":"key-9","state":"revoked","expiresAtMs":null}'
  await redis.keeper.set(keys.accountKey(digest), revoked)
  await redis.keeper.hset(keys.feedUse(documentId(other, keyId)), 'asked/forms', toInstant(Date.now()))
}

/** Does the work of a user, as far as it may; what Redis refused. */
const refusedOf = async (user: string): Promise<unknown[]> => {
  const [link, work] = [links.get(user), works[user]]
  if (link === undefined || work === undefined) throw new Error(`nobody knows what ${user} does`)
  await layOut()
  await redis.keeper.call('ACL', 'LOG', 'RESET')
  // The first refusal ends the work; the log of Redis names it.
  const asked = [link.client.info('server'), redisAnswers(link)(AbortSignal.timeout(timeoutMs)), work(link)]
  await Promise.all(asked).catch(() => undefined)
  return (await redis.keeper.call('ACL', 'LOG')) as unknown[]
}

describe('the users of Redis', () => {
  test.each(users.map(([user = '']) => user))('%s has the rights it needs', async (user) => {
    expect(await refusedOf(user)).toEqual([])
  })

  test('no user can read or write keys that it does not need', async () => {
    const refused = async (user: string, ...command: [string, ...string[]]): Promise<boolean> => {
      const answer = links.get(user)?.client.call(...command)
      return String(await answer?.catch((error: Error) => error.message)).startsWith('NOPERM')
    }
    for (const [user = ''] of users) {
      for (const command of ['KEYS *', 'FLUSHALL', 'CONFIG GET *', 'GET of-somebody-else'])
        expect([user, command, await refused(user, ...(command.split(' ') as [string]))]).toEqual([user, command, true])
    }
    for (const user of ['tidemark-api', 'tidemark-indexer', 'tidemark-verify'])
      expect(await refused(user, 'GET', keys.session('digest'))).toBe(true)
    expect(await refused('tidemark-api', 'HSET', keys.teamKeys(team), keyId, '{}')).toBe(true)
    const writesKey = !(await refused('tidemark-api', 'SET', keys.accountKey(digestOf('mine')), '{}'))
    expect(writesKey).toBe(!redis.tellsReadFromWrite)
    expect(await refused('tidemark-verify', 'SET', keys.accountKey(digestOf('mine')), '{}')).toBe(true)
  })

  const rights = users.flatMap(([user = '', ...rules]) => {
    return rules.filter((rule) => /^\+|~/.test(rule)).map((rule) => [user, rule] as const)
  })
  test.each(rights)('%s fails without %s', async (user, right) => {
    const rules = rulesOf(user)
    const left = rules.filter((rule) => rule !== right)
    await redis.setRules(user, left)
    try {
      expect(await refusedOf(user)).not.toEqual([])
    } finally {
      await redis.setRules(user, rules)
    }
  })
})

describe('over TLS, with one user per process', () => {
  const as = (user: string): Record<string, string> => {
    return { ...names, ...signInSettings, REDIS_URL: redis.urlOf(user), REDIS_CA_FILE: redis.caFile }
  }
  const processes = [
    ['indexer', 'tidemark-indexer', []],
    ['api', 'tidemark-api', []],
    ['settings', 'tidemark-settings', []],
    ['keys', 'tidemark-settings', ['list', '--team', 'acme']],
    ['rebuild', 'tidemark-indexer', []],
    ['verify', 'tidemark-verify', []],
    ['erase', 'tidemark-erase', ['--team', 'acme', '--submission', 's-1']],
  ] as const

  test('the processes work without a refused command, and an API works again after its password was changed', async () => {
    // What the tests above have laid out is in no topic.
    await redis.keeper.flushall()
    await redis.keeper.call('ACL', 'LOG', 'RESET')
    const indexer = await startProgram('indexer', as('tidemark-indexer'))
    await untilReady(indexer)
    const api = await startProgram('api', as('tidemark-api'))
    const settings = await startProgram('settings', as('tidemark-settings'))
    await Promise.all([api, settings].map(untilReady))
    const create = ['create', '--team', 'acme', '--name', 'n']
    const { stdout } = await runCommand('keys', create, as('tidemark-settings'))
    const status = async (): Promise<number> =>
      (await fetch(`${api.url}/api/v1/forms`, { headers: { authorization: `Bearer ${stdout.trim()}` } })).status
    expect(await status()).toBe(200)
    const { code } = await runCommand('verify', [], as('tidemark-verify'))
    expect(code).toBe(0)
    expect(await redis.keeper.call('ACL', 'LOG')).toEqual([])

    const rules = rulesOf('tidemark-api')
    await redis.setRules('tidemark-api', rules, 'another')
    await redis.keeper.call('CLIENT', 'KILL', 'USER', 'tidemark-api')
    expect(await status()).toBe(503)
    await redis.setRules('tidemark-api', rules)
    await eventually(async () => (await status()) === 200)
    for (const program of [indexer, api, settings]) expect(await program.end('SIGTERM')).toBe(0)
  })

  test('an API uses the next password in its file without a restart', async () => {
    const file = join(folder, 'redis-url')
    await writeFile(file, `${redis.urlOf('tidemark-api')}\n`)
    const { REDIS_URL: _, ...others } = as('tidemark-api')
    const api = await startProgram('api', { ...others, REDIS_URL: '', REDIS_URL_FILE: file })
    await untilReady(api)
    const rules = rulesOf('tidemark-api')
    await redis.setRules('tidemark-api', rules, 'the next/one')
    await redis.keeper.call('CLIENT', 'KILL', 'USER', 'tidemark-api')
    await eventually(() => api.log().includes('WRONGPASS'))
    await writeFile(file, redis.urlOf('tidemark-api', encodeURIComponent('the next/one')))
    await untilReady(api)
    await redis.setRules('tidemark-api', rules)
    expect(api.log()).not.toContain('password-of')
    expect(await api.end('SIGTERM')).toBe(0)
  })

  test.each(processes)(
    '%s ends with exit code 78 and one line when its password or the certificate is refused',
    async (script, user, args) => {
      const wrong = { ...as(user), REDIS_URL: redis.urlOf(user, 'hunter2') }
      expect(await refusalOf(script, wrong, args)).toBe('REDIS_URL names a user or a password that Redis refuses\n')
      const foreign = { ...as(user), REDIS_CA_FILE: redis.foreignCaFile }
      const line = /^REDIS_CA_FILE does not vouch for the certificate of 127\.0\.0\.1:\d+ \([A-Z_]+\)\n$/
      expect(await refusalOf(script, foreign, args)).toMatch(line)
    },
  )

  test('a Redis whose certificate has another name is refused', async () => {
    const elsewhere = redis.urlOf('tidemark-api').replace('127.0.0.1', 'localhost')
    const line = /^REDIS_URL names localhost:\d+, whose certificate is another host's\n$/
    expect(await refusalOf('api', { ...as('tidemark-api'), REDIS_URL: elsewhere })).toMatch(line)
  })

  test('a process waits for a Redis that is away, and ends if Redis then refuses it', async () => {
    const relay = await startRelay(redis.urlOf('tidemark-api', 'hunter2'))
    relay.cut()
    const api = await startProgram('api', { ...as('tidemark-api'), REDIS_URL: relay.url })
    await eventually(() => api.log().includes('listening'))
    relay.restore()
    expect(await api.ended()).toBe(78)
    expect(api.log()).toContain('REDIS_URL names a user or a password that Redis refuses')
    expect(api.log()).not.toContain('hunter2')
    await relay.close()
  })
})
