import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Redis } from 'ioredis'
import { Follower, truthFor } from '../model/follower.ts'
import { startBalancer } from '../support/balancer.ts'
import { clearRedis } from '../support/clearRedis.ts'
import { eventually } from '../support/eventually.ts'
import { producePersistently, untilServes } from '../support/indexingProgress.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startOwnEngines } from '../support/ownEngines.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { type HistoryRecord, type Json, randomHistory } from '../support/randomHistory.ts'
import {
  type Copy,
  type CopySource,
  copyOfAirbyte,
  copyOfDlt,
  copyOfPythonClient,
  copyOfSinger,
} from './support/copies.ts'
import { describePython, usePython } from './support/python.ts'
import { useClientPackage } from './support/pythonClientPackage.ts'
import { withoutNulls } from './support/warehouse.ts'

const team = 'acme'
const history = randomHistory(620, 4_000)
const burst = 50
const frozenMs = 6_000
const followedMs = 40_000
const timeoutMs = 420_000

const engines = useStarted('the engines', () => startOwnEngines())
const pipeline = usePipeline()
const [clients, dlt, airbyte, singer] = (['clients', 'tools', 'airbyte', 'singer'] as const).map(usePython) as [
  ReturnType<typeof usePython>,
  ReturnType<typeof usePython>,
  ReturnType<typeof usePython>,
  ReturnType<typeof usePython>,
]
const client = useClientPackage(clients)

describePython('Copies that other programs make', () => {
  test(
    'equal the stored items after an indexer was killed, a rebuild has switched, Redis was emptied, the broker was frozen, and a tenth of the items was deleted',
    async () => {
      let indexers = await Promise.all([pipeline.startIndexer(), pipeline.startIndexer()])
      await pipeline.createKeys(history.teams)
      const apis = await Promise.all([pipeline.startApi(), pipeline.startApi()])
      const over = new AbortController()
      const followed = await Promise.all(
        [
          copyOfTypescriptClient,
          (source: CopySource) => copyOfPythonClient(client, source, clients.folder),
          (source: CopySource) => copyOfDlt(dlt, source),
          (source: CopySource) => copyOfAirbyte(airbyte, source),
          (source: CopySource) => copyOfSinger(singer, source),
        ].map(async (make) => {
          const balancer = await startBalancer()
          balancer.leadTo(apis.map(({ url }) => url))
          const copy = make({ baseUrl: `${balancer.url}/api/v1`, accountKey: pipeline.keyOf(team) })
          return { copy, balancer, ended: copy.follow(over.signal) }
        }),
      )
      const disturb = async (): Promise<void> => {
        const [killed, ...others] = indexers
        await killed?.end('SIGKILL')
        await sleep(2_000)
        indexers = [...others, await pipeline.startIndexer()]
        const rebuild: Program = await startProgram('rebuild', pipeline.names)
        await untilServes(rebuild)
        const redis = new Redis(engines.urls['REDIS_URL'] ?? '')
        await clearRedis(redis, pipeline.names.INDEX_PREFIX)
        redis.disconnect()
        engines.engine('kafka').kill('SIGSTOP')
        await sleep(frozenMs)
        engines.engine('kafka').kill('SIGCONT')
      }
      const endsAtMs = Date.now() + followedMs
      const disturbing = (async () => {
        do await disturb()
        while (Date.now() < endsAtMs)
      })()
      const known: HistoryRecord[] = []
      for (let at = 0; at < history.records.length; at += burst) {
        const records = history.records.slice(at, at + burst)
        known.push(...records)
        await producePersistently(pipeline, records)
        const leftBursts = (history.records.length - at) / burst
        await sleep(Math.max(0, endsAtMs - Date.now()) / leftBursts)
      }
      await disturbing
      const ids = [...truthFor({ team, list: 'records' }, known).keys()].filter((_, at) => at % 10 === 0)
      expect(ids.length).toBeGreaterThan(3)
      const deletions = ids.map(
        (id) => ({ topic: 'submissions', key: Buffer.from(`${team}/${id}`), value: null }) as const,
      )
      known.push(...deletions)
      await producePersistently(pipeline, deletions)
      const truth = truthFor({ team, list: 'records' }, known)
      for (const { copy, balancer } of followed) {
        let items: ReadonlyMap<string, Json> = new Map()
        await eventually(async () => {
          items = normalized(await copy.items().catch(() => items))
          return isDeepStrictEqual(items, normalized(truth))
        }).catch(() => expect({ name: copy.name, items }).toEqual({ name: copy.name, items: normalized(truth) }))
        const { requests, bytes } = balancer.passed
        process.stderr.write(
          `${copy.name}: ${items.size} rows, ${requests} requests, ${bytes} bytes, ${copy.failures} runs failed\n`,
        )
      }
      over.abort()
      await Promise.all(followed.map(({ ended }) => ended))
      await Promise.all(followed.map(({ balancer }) => balancer.close()))
    },
    timeoutMs,
  )
})

function copyOfTypescriptClient({ baseUrl, accountKey }: CopySource): Copy {
  const stop = new AbortController()
  const follower = new Follower({ baseUrl, accountKey, list: 'records' }, { pollMs: 1_000, signal: stop.signal })
  return {
    ...{ name: 'TypeScript client', failures: 0, items: async () => follower.items },
    async follow(signal) {
      signal.addEventListener('abort', () => stop.abort(), { once: true })
      await follower.ended
    },
  }
}

/** Null members are left out, as Airbyte does. */
const normalized = (items: ReadonlyMap<string, Json>): ReadonlyMap<string, Json> =>
  new Map([...items].map(([id, item]) => [id, withoutNulls(item)] as const).sort(([a], [b]) => (a < b ? -1 : 1)))
