import { toInstant } from '../../src/core/model/instant.ts'
import { startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { createTestReplica } from '../support/replica.ts'
import { type Outcome, startBoundedApi, type Watched, watch } from './bystander.ts'
import { storeTeam, submissionAt } from './largeRows.ts'
import type { Scenario } from './scenarios.ts'

const [attacker, bystander] = ['attacker', 'bystander']
const submissions = 2_000

/** What an attack has done to the process and to another team. */
export type Damage = Watched & { readonly scenario: Scenario; readonly outcome: Outcome }

export type Stage = Awaited<ReturnType<typeof openStage>>

/** An API process of its own with two teams, and what attacks it. */
export async function openStage() {
  const replica = await createTestReplica()
  await replica.completeAccountKeys()
  const [key, bystanderKey] = [await replica.storeKey(attacker), await replica.storeKey(bystander)]
  const some = (count: number) => Array.from({ length: count }, (_, at) => submissionAt(at))
  await storeTeam(replica, { name: attacker, submissions: some(submissions) })
  await storeTeam(replica, { name: bystander, submissions: some(100) })
  await replica.publishWatermark(toInstant(Date.now()))
  const elasticsearch = await startFaultyElasticsearch(process.env['ELASTICSEARCH_URL'] ?? '')
  const api = await startBoundedApi({ INDEX_PREFIX: replica.prefix, ELASTICSEARCH_URL: elasticsearch.url })
  const poll = (): Promise<string> =>
    fetch(`${api.url}/api/v1/records`, { headers: { authorization: `Bearer ${bystanderKey}` } }).then(
      async (response) => {
        await response.arrayBuffer()
        return String(response.status)
      },
      () => 'no answer',
    )
  const target = { port: Number(new URL(api.url).port), key, team: attacker, elasticsearch }
  return {
    api,
    attack: async (scenario: Scenario, times: number): Promise<Damage> => {
      const watched = watch([api], [poll])
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

/** What must not have come of an attack; empty when it was survived. */
export function harmDone({ scenario, outcome, bystander }: Damage): string[] {
  const unforeseen = Object.keys(outcome).filter((status) => !scenario.allowed.includes(status))
  const harmed = Object.keys(bystander).filter((status) => status !== '200')
  return [
    ...unforeseen.map((status) => `${outcome[status]} times ${status}`),
    ...harmed.map((status) => `another team had ${bystander[status]} times ${status}`),
  ]
}
