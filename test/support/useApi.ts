import { startTestApi, type TestAnswer, type TestApi, type TestRequest } from './api.ts'
import { startFaultyElasticsearch } from './faultyElasticsearch.ts'
import { beside, late, useStarted } from './late.ts'
import { createTestReplica, type TestRecord, type TestReplica } from './replica.ts'

type ReplicaOptions = {
  /** The teams that get a key; by default `team-1`. */
  readonly teams?: readonly string[]
  readonly forms?: readonly TestRecord[]
  readonly submissions?: readonly TestRecord[]
  readonly watermark?: string
  /** Fills the replica before the API starts. */
  readonly fill?: (replica: TestReplica) => Promise<unknown>
}

type ApiOptions = ReplicaOptions & {
  /** Settings besides the names of the replica. The rate limit is high unless set here. */
  readonly settings?: Readonly<Record<string, string>>
  readonly nowMs?: () => number
  /** The monotonic clock (ms) that measures requests with `Prefer: wait`. */
  readonly elapsedMs?: () => number
  /** Puts the proxy `elasticsearch` between the API and the real Elasticsearch. */
  readonly hasFaultyElasticsearch?: boolean
}

/** A replica for all tests of a file or block, created before and deleted after them. */
export function useReplica(options: ReplicaOptions = {}) {
  const { teams = ['team-1'], forms = [], submissions = [], watermark, fill } = options
  const keys = new Map<string, string>()
  const replica = useStarted('the replica', createTestReplica)
  beforeAll(async () => {
    await replica.completeAccountKeys()
    for (const team of teams) keys.set(team, await replica.storeKey(team))
    if (forms.length > 0) await replica.storeForms(...forms)
    if (submissions.length > 0) await replica.storeSubmissions(...submissions)
    if (watermark !== undefined) await replica.publishWatermark(watermark)
    await fill?.(replica)
  })
  const keyOf = (team: string): string => {
    const key = keys.get(team)
    if (key === undefined) throw new Error(`${team} has no key`)
    return key
  }
  return {
    replica,
    /** The key of the first team. */
    get key(): string {
      return keyOf(teams[0] ?? '')
    },
    keyOf,
  }
}

/** The API on a new replica, for all tests of a file or block. Everything is closed after them, even if a start failed. */
export function useApi(options: ApiOptions = {}) {
  const { settings = {}, nowMs, elapsedMs, hasFaultyElasticsearch = false } = options
  const underTest = useReplica(options)
  const elasticsearch = hasFaultyElasticsearch ? useStarted('the proxy', startFaultyElasticsearch) : undefined
  const start = (more: Readonly<Record<string, string>> = {}): Promise<TestApi> =>
    startTestApi({
      settings: {
        INDEX_PREFIX: underTest.replica.prefix,
        RATE_LIMIT_PER_MINUTE: '1000000',
        ...(elasticsearch !== undefined && { ELASTICSEARCH_URL: elasticsearch.url }),
        ...settings,
        ...more,
      },
      ...(nowMs !== undefined && { nowMs }),
      ...(elapsedMs !== undefined && { elapsedMs }),
    })
  const api = useStarted('the API', () => start())
  afterEach(() => elasticsearch?.restore())
  /** Sends a request, by default with the key of the first team. */
  const get = (target: string, request?: TestRequest): Promise<TestAnswer> =>
    api.send(target, { key: underTest.key, ...request })
  /** The parsed body of an answer; throws unless it is a 200. */
  const read = async <T>(target: string, request?: TestRequest): Promise<T> => {
    const { status, json } = await get(target, request)
    expect(status).toBe(200)
    return json as T
  }
  return beside(api, {
    replica: underTest.replica,
    keyOf: underTest.keyOf,
    get key(): string {
      return underTest.key
    },
    /** Forwards to Elasticsearch, except for faults injected by a test, until that test ends. */
    elasticsearch: late('the Elasticsearch between', () => elasticsearch),
    /** Starts another API on the same replica; the caller closes it. */
    startAnother: start,
    get,
    read,
  })
}
