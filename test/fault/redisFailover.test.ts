import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { jest } from '@jest/globals'
import { Redis } from 'ioredis'
import type { Engine } from '../../tools/engines/engines.ts'
import { sentinelName } from '../../tools/engines/redis.ts'
import { waitUntil } from '../../tools/engines/waiting.ts'
import { isRedisWhole } from '../support/clusterHealth.ts'
import { accountKeyRecord } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startOwnCluster } from '../support/ownEngines.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, probe } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'

const team = 'acme'
const pauseMs = 20
/** Of a server that is alive, on a machine with too much to do. */
const answerMs = 5_000

const cluster = useStarted('the cluster', () => startOwnCluster(['redis']))
const pipeline = usePipeline()
const indexers = useStarted('the indexers', () => Promise.all([pipeline.startIndexer(), pipeline.startIndexer()]))
const apis = useStarted('the APIs', () => Promise.all([pipeline.startApi(), pipeline.startApi()]))
let master: Engine
let replica: Engine
let revision = 0
/** The last change was appended after this time. */
let replacedAt = ''

beforeEach(async () => {
  ;[master, replica] = await roles()
  await untilSettled(async () => (await Promise.all(cluster.sentinels.map(couldFailOver))).every(Boolean))
  await pipeline.createKeys([team])
  await untilReady()
})

/** Asks one server, which may be away. */
async function ask<T>({ url }: Engine, question: (client: Redis) => Promise<T>): Promise<T | undefined> {
  const client = new Redis(url, { retryStrategy: () => null, connectTimeout: answerMs, commandTimeout: answerMs })
  client.on('error', () => undefined)
  return await question(client)
    .catch(() => undefined)
    .finally(() => client.disconnect())
}

/**
 * Longer than `eventually` waits: Sentinels whose first attempt has failed make the next one after twenty seconds, and those that the machine
 * has held up for two seconds distrust their clocks, and do nothing, for thirty.
 */
const failoverMs = 150_000
jest.setTimeout(4 * failoverMs)

async function untilSettled(condition: () => Promise<boolean>): Promise<void> {
  if (!(await waitUntil(condition, { deadlineMs: failoverMs, signal: new AbortController().signal })))
    throw new Error(`does not come true: ${condition}`)
}

/** The master and its replica, once they are whole. */
async function roles(): Promise<[Engine, Engine]> {
  let found: [Engine, Engine] | undefined
  await untilSettled(async () => {
    for (const [each, other] of [cluster.redis, cluster.redis.toReversed()])
      if (each && other && (await ask(each, isRedisWhole))) found = [each, other]
    return found !== undefined
  })
  return found as [Engine, Engine]
}

/** Whether a Sentinel reaches the others and a replica that follows its master, and trusts its clock: else a failover is not tried. */
async function couldFailOver(sentinel: Engine): Promise<boolean> {
  const told = await ask(sentinel, async (client) => {
    const quorum = String(await client.call('SENTINEL', 'CKQUORUM', sentinelName))
    const replicas = JSON.stringify(await client.call('SENTINEL', 'REPLICAS', sentinelName))
    return [quorum, replicas, await client.info('sentinel')]
  })
  const [quorum = '', replicas = '', info = ''] = told ?? []
  const isFollowing = replicas.includes('"flags","slave"') && replicas.includes('"master-link-status","ok"')
  return isFollowing && quorum.startsWith('OK 3 ') && info.includes('sentinel_tilt:0')
}

type Answer = { status: number; etag: string; watermark: string; text: string }

const get = async (api: Program, key: string, etag?: string): Promise<Answer> => {
  const ifNew = etag && { 'if-none-match': etag }
  const headers = { authorization: `Bearer ${key}`, 'cache-control': 'no-cache', ...ifNew }
  const response = await fetch(`${api.url}/api/v1/forms`, { headers })
  const [sentEtag = '', watermark = ''] = ['etag', 'replica-watermark'].map((name) => response.headers.get(name) ?? '')
  return { status: response.status, etag: sentEtag, watermark, text: await response.text() }
}
const untilReady = (): Promise<void> =>
  eventually(async () => {
    const answers = await Promise.all(apis.map((api) => get(api, pipeline.keyOf(team))))
    const all = await Promise.all([...indexers, ...apis].map((each) => probe(each, 'readyz')))
    return answers.every(({ status }) => status === 200) && all.every(({ code }) => code === 200)
  })

/** Writes a new state of the form and waits until every API serves it; its ETags, one for each API. */
async function change(): Promise<string[]> {
  revision++
  const title = `at ${revision}`
  replacedAt = new Date().toISOString()
  await pipeline.produce('forms', [stateRecord('forms', `${team}/a`, revision, { title })])
  const served = (): Promise<Answer[]> => Promise.all(apis.map((api) => get(api, pipeline.keyOf(team))))
  await eventually(async () => (await served()).every(({ text }) => text.includes(`"${title}"`)))
  return (await served()).map(({ etag }) => etag)
}

const plaintextOf = (id: string): string => `rqp_acct_${createHash('sha256').update(`${team} ${id}`).digest('hex')}`

async function writeKey(id: string, state: 'active' | 'revoked', keyRevision: number): Promise<void> {
  const digest = createHash('sha256').update(plaintextOf(id)).digest('hex')
  const value = accountKeyRecord({ id, digest, state, revision: keyRevision })
  await pipeline.produce('account-keys', [{ key: `${team}/${id}`, value }])
  const status = state === 'active' ? 200 : 401
  await eventually(async () => {
    const answers = await Promise.all(apis.map((api) => get(api, plaintextOf(id))))
    return answers.every((answer) => answer.status === status)
  })
}

/**
 * What is wrong with an answer for an ETag of a state that was replaced. Until indexers publish again, a Redis that lacks its last writes knows of that
 * state only, and says so by its watermark.
 */
function wrongIn({ status, text, watermark }: Answer): string[] {
  const saysOlder = watermark !== '' && watermark <= replacedAt
  return [
    ...(status === 304 && !saysOlder ? [`304 for a state that was replaced, with the watermark ${watermark}`] : []),
    ...(status === 200 && !saysOlder && !text.includes(`"at ${revision}"`) ? [`served: ${text}`] : []),
    ...(status === 429 ? ['429'] : []),
  ]
}

/** Asks every API again and again, with a revoked key and with an ETag of a state that was replaced; `stop` returns what was wrong. */
function askAllTheTime(revoked: string, outdated: readonly string[]): { stop(): Promise<string[]> } {
  const wrong: string[] = []
  const stopped = new AbortController()
  const asking = apis.map(async (api, at) => {
    while (!stopped.signal.aborted) {
      const refused = await get(api, plaintextOf(revoked)).catch(() => undefined)
      if (![401, 503, undefined].includes(refused?.status)) wrong.push(`the revoked key: ${refused?.status}`)
      const changed = await get(api, pipeline.keyOf(team), outdated[at]).catch(() => undefined)
      if (changed !== undefined) wrong.push(...wrongIn(changed))
      await sleep(pauseMs)
    }
  })
  return {
    stop: async () => {
      stopped.abort()
      await Promise.all(asking)
      return [...new Set(wrong)]
    },
  }
}

const untilPromoted = (engine: Engine): Promise<void> =>
  untilSettled(async () => /^role:master/m.test((await ask(engine, (client) => client.info('replication'))) ?? ''))

/** What the master sends to a frozen replica waits in the kernel, and would be read after all. */
const endReplication = (): Promise<void> =>
  untilSettled(async () => {
    const told = await ask(master, async (client) => {
      await client.call('CLIENT', 'KILL', 'TYPE', 'replica')
      return await client.info('replication')
    })
    return /^connected_slaves:0/m.test(told ?? '')
  })

test('when the master is killed and a lagging replica takes over, revoked keys stay revoked and changed items get no 304', async () => {
  const outdated = await change()
  await writeKey('k-killed', 'active', 1)
  replica.kill('SIGSTOP')
  await endReplication()
  await writeKey('k-killed', 'revoked', 2)
  await change()
  const asking = askAllTheTime('k-killed', outdated)
  master.kill('SIGKILL')
  await master.ended()
  replica.kill('SIGCONT')
  await untilPromoted(replica)
  await untilReady()
  await master.start()
  await roles()
  await untilReady()
  expect(await asking.stop()).toEqual([])
  await change()
})

test('when a frozen master wakes up after its replica has taken over, keys that were revoked meanwhile stay revoked', async () => {
  const outdated = await change()
  await writeKey('k-frozen', 'active', 1)
  master.kill('SIGSTOP')
  await untilPromoted(replica)
  await untilReady()
  await writeKey('k-frozen', 'revoked', 2)
  await change()
  const asking = askAllTheTime('k-frozen', outdated)
  master.kill('SIGCONT')
  await roles()
  await untilReady()
  expect(await asking.stop()).toEqual([])
})
