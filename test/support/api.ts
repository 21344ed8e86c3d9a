import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { startApi } from '../../src/api/startApi.ts'
import { queryProblems } from './acceptedQueries.ts'
import { eventually } from './eventually.ts'
import { type FaultyElasticsearch, startFaultyElasticsearch } from './faultyElasticsearch.ts'
import { HeldExports } from './heldExports.ts'
import { send, startInProcess, type TestAnswer, type TestRequest } from './inProcess.ts'
import { closeAfterwards, useStarted } from './lifecycle.ts'
import { createTestReplica, type TestRecord, type TestReplica } from './replica.ts'

export type { TestAnswer, TestRequest } from './inProcess.ts'

export type TestApi = Awaited<ReturnType<typeof startTestApi>>

type ApiOptions = {
  readonly nowMs?: () => number
  /** The monotonic clock (ms) that measures requests with `Prefer: wait`. */
  readonly elapsedMs?: () => number
}
type StartOptions = ApiOptions & {
  readonly settings: Readonly<Record<string, string>>
  /** Waits until the API is ready to answer. */
  readonly awaitReady?: boolean
}

type LogLine = Readonly<Record<string, unknown>>

/** Starts the API in this process. */
export async function startTestApi({ settings, nowMs, elapsedMs, awaitReady = true }: StartOptions) {
  const started = await startInProcess((service) => startApi(service, nowMs, elapsedMs), settings, awaitReady)
  const { port, metrics, readiness, log } = started
  return {
    port,
    metrics,
    readiness,
    get logLines(): readonly LogLine[] {
      const lines = log().split('\n').slice(0, -1)
      return lines.map((line) => JSON.parse(line) as LogLine)
    },
    /** Sends a request; an answer to a query that the OpenAPI description refuses is an error. */
    send: async (target: string, options?: TestRequest): Promise<TestAnswer> => {
      const answer = await send(port, target, options)
      const problems = [200, 304].includes(answer.status) ? queryProblems(target) : []
      if (problems.length > 0)
        throw new Error(`the API accepts ${target}, its description does not: ${problems.join()}`)
      return answer
    },
    /** Resolves once so many requests wait for a change. */
    untilWaiting: (count: number): Promise<void> =>
      eventually(async () => {
        const waiting = await metrics.getSingleMetric('tidemark_http_requests_waiting')?.get()
        return waiting?.values[0]?.value === count
      }),
    close: (): Promise<void> => started.close(),
  }
}

/** The lines of an export. */
export function linesOf({ status, text }: TestAnswer): string[] {
  expect([status, text === '' || text.endsWith('\n')]).toEqual([200, true])
  return text.split('\n').slice(0, -1)
}

type ReplicaOptions = {
  /** The teams that get a key; by default `team-1`. */
  readonly teams?: readonly string[]
  readonly forms?: readonly TestRecord[]
  readonly submissions?: readonly TestRecord[]
  readonly watermark?: string
  /** Whether its account keys are complete; if not, the API answers 503 until a test completes them. */
  readonly isComplete?: boolean
  /** Fills the replica before the API starts. */
  readonly fill?: (replica: TestReplica) => Promise<unknown>
}

type UseOptions = ReplicaOptions &
  ApiOptions & {
    /** Settings besides the names of the replica. The rate limit is high unless set here. */
    readonly settings?: Readonly<Record<string, string>>
    /** Puts the proxy `elasticsearch` between the API and the real Elasticsearch. */
    readonly hasFaultyElasticsearch?: boolean
  }

/** A replica for all tests of a file or block, created before and deleted after them. */
export function useReplica(options: ReplicaOptions = {}) {
  const { teams = ['team-1'], forms = [], submissions = [], watermark, isComplete = true, fill } = options
  const keys = new Map<string, string>()
  const replica = useStarted('the replica', createTestReplica)
  beforeAll(async () => {
    if (isComplete) await replica.completeAccountKeys()
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
export function useApi(options: UseOptions = {}) {
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
  const proxy = (): FaultyElasticsearch => {
    if (elasticsearch === undefined) throw new Error('this API has no proxy before Elasticsearch')
    return elasticsearch
  }
  const holding: HeldExports[] = []
  afterEach(async () => {
    for (const exports of holding.splice(0)) exports.goOn()
    await elasticsearch?.restore()
  })
  /** Sends a request, by default with the key of the first team. */
  const get = (target: string, request?: TestRequest): Promise<TestAnswer> =>
    api.send(target, { key: underTest.key, ...request })
  /** Sends a request, with the key of the first team unless another is given; the caller reads the body of the answer. */
  const open = async (path: string, headers: Readonly<Record<string, string>> = {}, key = underTest.key) => {
    const sent = request({
      port: api.port,
      path,
      agent: false,
      headers: { authorization: `Bearer ${key}`, ...headers },
    })
    const [received] = (await once(sent.end(), 'response')) as [IncomingMessage]
    return { sent, received }
  }
  /** The parsed body of an answer; throws unless it is a 200. */
  const read = async <T>(target: string, request?: TestRequest): Promise<T> => {
    const { status, json } = await get(target, request)
    expect(status).toBe(200)
    return json as T
  }
  return {
    get port(): number {
      return api.port
    },
    get metrics(): TestApi['metrics'] {
      return api.metrics
    },
    get logLines(): TestApi['logLines'] {
      return api.logLines
    },
    get key(): string {
      return underTest.key
    },
    /** Forwards to Elasticsearch, except for faults injected by a test, until that test ends. */
    get elasticsearch(): FaultyElasticsearch {
      return proxy()
    },
    replica: underTest.replica,
    keyOf: underTest.keyOf,
    /** The present problems of its readiness checks, as `name: problem`. */
    readiness: (): Promise<string[]> => api.readiness(),
    /** Sends a request without a key, unless the request has one. */
    send: (target: string, request?: TestRequest): Promise<TestAnswer> => api.send(target, request),
    get,
    open,
    read,
    /** Resolves once so many requests wait for a change. */
    untilWaiting: (count: number): Promise<void> => api.untilWaiting(count),
    /** Holds exports until the test lets them continue, or ends. */
    hold: (): HeldExports => {
      const exports = new HeldExports(proxy())
      holding.push(exports)
      return exports
    },
    /** Starts another API on the same replica, which ends with this one. */
    startAnother: async (more?: Readonly<Record<string, string>>): Promise<TestApi> =>
      closeAfterwards(await start(more)),
    close: (): Promise<void> => api.close(),
  }
}
