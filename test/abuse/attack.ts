import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { toInstant } from '../../src/core/model/instant.ts'
import { startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { createTestReplica } from '../support/replica.ts'
import type { Attack } from './attacker.ts'
import { type Outcome, startBoundedApi, type Watched, watch } from './bystander.ts'
import { watchContention } from './contention.ts'
import { storeTeam, submissionAt } from './largeRows.ts'
import type { Scenario, Target } from './scenarios.ts'

const [attacker, bystander, wordy] = ['attacker', 'bystander', 'wordy']
const submissions = 2_000
/** Different answers, so long that to count them takes all the bytes that a team may ask for at once. */
const longAnswers = 6_000

/**
 * How long 99 of 100 requests of the plain client may take while another team attacks, on a machine that does nothing else; as many times as long
 * as work then takes longer, because the machine may be busy with anything.
 */
const mostMs = 300
/** Harm that comes of each of so many attempts is not the machine's. */
const attempts = 5

/** What an attack has done to the process and to another team. */
export type Damage = Watched & { readonly scenario: Scenario; readonly outcome: Outcome; readonly boundMs: number }

export type Stage = Awaited<ReturnType<typeof openStage>>

/** An API process of its own, what attacks it, and a plain client of another team. */
export async function openStage() {
  const replica = await createTestReplica()
  await replica.completeAccountKeys()
  const keyOf = (team: string): Promise<string> => replica.storeKey(team)
  const [key, bystanderKey, wordyKey] = [await keyOf(attacker), await keyOf(bystander), await keyOf(wordy)]
  const some = (count: number) => Array.from({ length: count }, (_, at) => submissionAt(at))
  const answering = Array.from({ length: longAnswers }, (_, at) =>
    submissionAt(at, { data: { open: `${'漢'.repeat(250)}${at}` } }),
  )
  await storeTeam(replica, { name: attacker, submissions: some(submissions) })
  await storeTeam(replica, { name: bystander, submissions: some(100) })
  await storeTeam(replica, { name: wordy, submissions: answering })
  await replica.publishWatermark(toInstant(Date.now()))
  const elasticsearch = await startFaultyElasticsearch(process.env['ELASTICSEARCH_URL'] ?? '')
  const api = await startBoundedApi({ INDEX_PREFIX: replica.prefix, ELASTICSEARCH_URL: elasticsearch.url })
  const poll = (url: string): Promise<string> =>
    fetch(url, { headers: { authorization: `Bearer ${bystanderKey}` } }).then(
      async (response) => {
        await response.arrayBuffer()
        return String(response.status)
      },
      () => 'no answer',
    )
  let asked = 0
  /** What the plain client asks for: an answer that is kept, one that is searched, and whether the process lives. */
  const polls = [
    () => poll(`${api.url}/api/v1/records`),
    () => poll(`${api.url}/api/v1/records?limit=5&since=${toInstant(Date.UTC(2020, 0, 1) + asked++)}`),
    () => poll(`${api.adminUrl}/livez`),
  ]
  const target: Target = { port: Number(new URL(api.url).port), key, wordyKey }
  const attackOnce = async (scenario: Scenario, times: number): Promise<Damage> => {
    const slow = elasticsearch.inject(`routing=${attacker}`, async (exchange) => {
      await sleep(scenario.searchMs)
      exchange.reply(await exchange.ask())
    })
    if (scenario.searchMs === undefined) slow.lift()
    const [watched, contention] = [watch([api], polls), watchContention()]
    const outcome = await runAttack({ name: scenario.name, target, times })
    slow.lift()
    const boundMs = mostMs * (await contention.stop()) * times
    return { scenario, outcome, boundMs, ...(await watched.stop()) }
  }
  return {
    api,
    /** The damage of the first attempt that did no harm, else of the last one. */
    attack: async (scenario: Scenario, times: number): Promise<Damage> => {
      let damage = await attackOnce(scenario, times)
      for (let attempt = 1; attempt < attempts && harmDone(damage).length > 0; attempt++)
        damage = await attackOnce(scenario, times)
      return damage
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

async function runAttack(workerData: Attack): Promise<Outcome> {
  const worker = new Worker(new URL('attacker.ts', import.meta.url), { workerData })
  const [outcome] = (await once(worker, 'message')) as [Outcome]
  await worker.terminate()
  return outcome
}

/** What must not have come of an attack; empty when it was survived. */
export function harmDone({ scenario, outcome, bystander, p99Ms, boundMs }: Damage): string[] {
  const unforeseen = Object.keys(outcome).filter((status) => !scenario.allowed.includes(status))
  const harmed = Object.keys(bystander).filter((status) => status !== '200')
  const slow = p99Ms > boundMs ? [`of another team, p99 took ${Math.round(p99Ms)} of ${Math.round(boundMs)} ms`] : []
  return [
    ...unforeseen.map((status) => `${outcome[status]} times ${status}`),
    ...harmed.map((status) => `another team had ${bystander[status]} times ${status}`),
    ...slow,
  ]
}
