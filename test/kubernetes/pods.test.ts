import { Redis } from 'ioredis'
import { Agent } from 'undici'
import { expectNothingLost } from '../model/expectNothingLost.ts'
import { follow } from '../model/follower.ts'
import { startSteadyWriter } from '../model/live.ts'
import { askSteadily } from '../support/askSteadily.ts'
import { eventually } from '../support/eventually.ts'
import { closeAfterwards } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { useNamespace, valuesFor } from './support/cluster.ts'

const team = 'acme'
/** As OpenShift chooses one for a namespace. */
const arbitraryUid = 1_000_650_000

const pipeline = usePipeline()
const namespace = useNamespace()
const over = new AbortController()
afterAll(() => over.abort())

const redisUrl = (user: string): string =>
  (process.env['REDIS_URL'] ?? '').replace('redis://', `redis://${user}:secret@`)

async function allowUser(redis: Redis, user: string): Promise<void> {
  await redis.call('ACL', 'SETUSER', user, 'on', '>secret', '~*', '&*', '+@all')
}

const secretOf = (user: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'tidemark' },
  stringData: { REDIS_URL: redisUrl(user) },
})

describe('pods of an arbitrary user, with secrets as files', () => {
  let front = { url: '' }
  beforeAll(async () => {
    const redis = closeAfterwards(new Redis(process.env['REDIS_URL'] ?? ''))
    await allowUser(redis, 'first')
    await namespace.apply([secretOf('first')])
    const values = valuesFor(pipeline, {
      podSecurityContext: {
        ...{ runAsNonRoot: true, runAsUser: arbitraryUid, runAsGroup: 0, fsGroup: arbitraryUid },
        seccompProfile: { type: 'RuntimeDefault' },
      },
      secretsAs: 'files',
      existingSecret: 'tidemark',
      secrets: { REDIS_URL: {} },
    })
    delete (values['config'] as Record<string, unknown>)['REDIS_URL']
    await namespace.deploy('install', values)
    await pipeline.createKeys([team])
    front = { url: await namespace.urlOf('tidemark-api') }
    await eventually(async () => (await pipeline.get(front, team, '/api/v1/forms')).status === 200)
  }, 400_000)

  const askMeanwhile = () => {
    const agent = closeAfterwards(new Agent({ connections: 10 }))
    const key = `Bearer ${pipeline.keyOf(team)}`
    return askSteadily(`${front.url}/api/v1/records?limit=5`, key, agent, 50)
  }

  test('run as that user', async () => {
    expect((await namespace.kubectl('exec', 'deployment/tidemark-api', '--', 'id', '-u')).trim()).toBe(
      String(arbitraryUid),
    )
    expect(await namespace.helm('test', 'tidemark')).toMatch(/Phase: +Succeeded/)
  })

  test('go on with a replaced secret, without a restart, within seconds', async () => {
    const redis = closeAfterwards(new Redis(process.env['REDIS_URL'] ?? ''))
    const ended = askMeanwhile()
    await allowUser(redis, 'second')
    await namespace.apply([secretOf('second')])
    const isSeen = async (component: string): Promise<boolean> => {
      const path = '/run/secrets/tidemark/REDIS_URL'
      const names = (await namespace.pods(component)).map(({ metadata }) => metadata.name)
      const texts = await Promise.all(names.map((name) => namespace.kubectl('exec', name, '--', 'cat', path)))
      return texts.every((text) => text === redisUrl('second'))
    }
    await eventually(async () => (await isSeen('api')) && (await isSeen('indexer')))
    // Ends the connections of this user.
    await redis.call('ACL', 'DELUSER', 'first')
    const writer = startSteadyWriter(pipeline, { seed: 3, perSecond: 20, team })
    await eventually(() => writer.written() > 40)
    await writer.stop()
    await pipeline.untilApplied(front, team)
    const told = await ended()
    process.stderr.write(`answers while a secret is replaced: ${JSON.stringify(told)}\n`)
    expect(await namespace.restarts()).toEqual([0, 0, 0, 0])
    // The old connections are ended with their user; requests are 503 until there are new ones.
    expect(Object.keys(told).filter((what) => what !== '503')).toEqual(['200'])
    expect(told['503'] ?? 0).toBeLessThan((told['200'] ?? 0) / 10)
  })

  test('leave a node that is drained without a failed request, as their disruption budgets allow', async () => {
    const ended = askMeanwhile()
    await namespace.kubectl('drain', 'node-2', '--delete-emptydir-data', '--timeout=240s')
    const pods = [...(await namespace.pods('api')), ...(await namespace.pods('indexer'))]
    const told = await ended()
    await namespace.kubectl('uncordon', 'node-2')
    process.stderr.write(`answers while a node is drained: ${JSON.stringify(told)}\n`)
    expect(new Set(pods.map(({ spec }) => spec.nodeName))).toEqual(new Set(['node-1']))
    expect(Object.keys(told)).toEqual(['200'])
  }, 400_000)

  test('are started again after their memory limit has ended them, while the Service answers', async () => {
    const [pod] = await namespace.pods('api')
    const name = pod?.metadata.name ?? ''
    // Kubernetes lets the kernel end any process of the container. Many small ones fill it, and this makes the first one, the API, the best to end.
    const fill = 'node --eval "const held = Buffer.alloc(8e7, 1); setTimeout(() => held, 60000)" &'
    const script = `echo 1000 >/proc/1/oom_score_adj; for number in 1 2 3 4 5 6 7 8; do ${fill} done; wait`
    await namespace.kubectl('exec', name, '--', 'sh', '-c', script).catch(() => undefined)
    await eventually(async () => {
      const [killed] = (await namespace.pods('api')).filter(({ metadata }) => metadata.name === name)
      return killed?.status.containerStatuses?.[0]?.lastState.terminated?.reason === 'OOMKilled'
    })
    expect((await pipeline.get(front, team, '/api/v1/forms')).status).toBe(200)
    await eventually(async () => {
      const pods = await namespace.pods('api')
      return pods.every(({ status }) => status.containerStatuses?.[0]?.ready === true)
    })
  })

  test('lose nothing when an indexer is evicted in the middle of a batch', async () => {
    const follower = follow(pipeline, { url: front.url, team, list: 'records', signal: over.signal })
    const writer = startSteadyWriter(pipeline, { seed: 4, perSecond: 500, team })
    for (let eviction = 1; eviction <= 2; eviction++) {
      const written = writer.written()
      await eventually(() => writer.written() > written + 1_000)
      const [pod] = (await namespace.pods('indexer')).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      await namespace.evict(pod?.metadata.name ?? '')
      await namespace.kubectl('rollout', 'status', 'deployment/tidemark-indexer', '--timeout=240s')
    }
    await expectNothingLost(pipeline, { front, writer, followers: [follower] })
  }, 400_000)
})
