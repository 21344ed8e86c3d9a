import { toInstant } from '../../src/core/model/instant.ts'
import { submissionEntity } from '../support/entities.ts'
import { startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { type Program, startProgram, untilReady } from '../support/programs.ts'
import { createTestReplica, type TestReplica } from '../support/replica.ts'
import type { Outcome, Scenario } from './scenarios.ts'

const [attacker, bystander] = ['attacker', 'bystander']
const submissions = 2_000
const bystanderPauseMs = 20
const sampleEveryMs = 100

/** What an attack has done to the process and to another team. */
export type Damage = {
  readonly scenario: Scenario
  readonly outcome: Outcome
  readonly peakBytes: number
  /** Answers that another team had meanwhile. */
  readonly bystander: Outcome
}

export type Stage = Awaited<ReturnType<typeof openStage>>

/** An API process of its own with two teams, and what attacks it. */
export async function openStage() {
  const replica = await createTestReplica()
  await replica.completeAccountKeys()
  const [key, bystanderKey] = [await replica.storeKey(attacker), await replica.storeKey(bystander)]
  await store(replica, attacker, submissions)
  await store(replica, bystander, 100)
  await replica.publishWatermark(toInstant(Date.now()))
  const elasticsearch = await startFaultyElasticsearch(process.env['ELASTICSEARCH_URL'] ?? '')
  const api = await startProgram('api', {
    INDEX_PREFIX: replica.prefix,
    ELASTICSEARCH_URL: elasticsearch.url,
    RATE_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: 'fatal',
    // As in a container of 512 MiB: without a bound, garbage would be taken for use.
    NODE_OPTIONS: '--max-old-space-size=256',
  })
  await untilReady(api)
  const target = { port: Number(new URL(api.url).port), key, team: attacker, elasticsearch }
  return {
    api,
    attack: async (scenario: Scenario, times: number): Promise<Damage> => {
      const watched = watch(api, bystanderKey)
      const outcome = await scenario.run(target, times)
      return { scenario, outcome, ...(await watched.stop()) }
    },
    /** Points in time that Elasticsearch keeps open for the API. */
    openContexts: replica.openContexts,
    close: async (): Promise<void> => {
      await api.end('SIGTERM')
      await elasticsearch.close()
      await replica.close()
    },
  }
}

async function store(replica: TestReplica, team: string, count: number): Promise<void> {
  const records = Array.from({ length: count }, (_, at) => ({
    team,
    id: `s${at}`,
    entity: submissionEntity({ id: `s${at}`, submittedAt: new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString() }),
  }))
  await replica.storeSubmissions(...records)
}

/** What must not have come of an attack; empty when it was survived. */
export function harmDone({ scenario, outcome, bystander }: Damage): string[] {
  const unforeseen = Object.keys(outcome).filter((status) => !scenario.allowed.includes(status))
  const harmed = Object.keys(bystander).filter((status) => status !== '200')
  return [
    ...unforeseen.map((status) => `${outcome[status]} times ${status}`),
    ...harmed.map((status) => `another team had ${bystander[status]} times ${status}`),
  ]
}

/** Polls as another team, and looks at the memory of the process, until it is stopped. */
function watch(api: Program, key: string): { stop(): Promise<Pick<Damage, 'peakBytes' | 'bystander'>> } {
  const over = new AbortController()
  const bystander: Record<string, number> = {}
  let peakBytes = 0
  const poll = async (): Promise<void> => {
    const status = await fetch(`${api.url}/api/v1/records`, { headers: { authorization: `Bearer ${key}` } }).then(
      async (response) => {
        await response.arrayBuffer()
        return String(response.status)
      },
      () => 'no answer',
    )
    bystander[status] = (bystander[status] ?? 0) + 1
  }
  const look = async (): Promise<void> => {
    peakBytes = Math.max(peakBytes, await api.metric('process_resident_memory_bytes'))
  }
  const running = Promise.all([repeat(poll, bystanderPauseMs, over.signal), repeat(look, sampleEveryMs, over.signal)])
  return {
    stop: async () => {
      over.abort()
      await running
      return { peakBytes, bystander }
    },
  }
}

async function repeat(work: () => Promise<void>, pauseMs: number, signal: AbortSignal): Promise<void> {
  do {
    await work()
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  } while (!signal.aborted)
}
