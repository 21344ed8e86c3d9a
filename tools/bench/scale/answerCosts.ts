import type { Client } from '@elastic/elasticsearch'
import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import type { HttpRequest, Pace } from '../load/job.ts'
import type { Measuring } from '../measuring.ts'
import { runRounds, runsIn } from '../rounds.ts'
import type { Stage } from '../stage.ts'
import { elasticsearchCpuMs } from './heap.ts'
import { readMetrics, sumOf } from './ownMetrics.ts'
import { recordsRequest } from './questions.ts'
import type { RaisedWorlds } from './raise.ts'
import type { ServedWorld } from './serve.ts'
import type { Size } from './size.ts'
import { fixedTeam, newestMs } from './world.ts'

/** CPU time of one answer, and how many there were in a second. */
export type AnswerCost = { readonly apiMs: number; readonly elasticsearchMs: number; readonly perSecond: number }

export const answers = ['page of 20', 'page of 100', 'window without a change', '304'] as const
export type AnswerName = (typeof answers)[number]

export const crowd: Pace = { atOnce: 16, leadInTurns: 50, maxTurns: Number.POSITIVE_INFINITY, maxMs: 1_500 }

export type AnswerCosts = {
  readonly costs: ReadonlyMap<string, readonly AnswerCost[]>
  /** Of a body that is not compressed. */
  readonly bytes: ReadonlyMap<string, number>
}

/** What answers to the fixed team cost in CPU time, in the world of most documents, and how many bytes they have. */
export async function measureAnswerCosts(
  { client, generator, stage }: Measuring & { readonly client: Client },
  { documents, keys }: Pick<RaisedWorlds, 'documents' | 'keys'>,
  rounds: Size['costRounds'],
): Promise<AnswerCosts> {
  const served = documents.at(-1)
  if (served === undefined) throw new Error('nothing is served')
  const requests = await requestsFor(served, keys[fixedTeam], stage)
  const read = async (): Promise<{ apiMs: number; elasticsearchMs: number }> => ({
    apiMs: 1_000 * sumOf(await readMetrics(served.adminOrigin, stage.signal), 'process_cpu_seconds_total'),
    elasticsearchMs: await elasticsearchCpuMs(client, stage),
  })
  let before = await read()
  const contenders = [...requests].map(([name, request]) => ({
    name,
    run: async (): Promise<AnswerCost> => {
      const target = { kind: 'http', origin: served.origin, turns: [[request]] } as const
      const { turns, perSecond } = await generator.perform({ target, pace: crowd }, stage.signal)
      const after = await read()
      const asked = turns + crowd.leadInTurns
      const cost = {
        apiMs: (after.apiMs - before.apiMs) / asked,
        elasticsearchMs: (after.elasticsearchMs - before.elasticsearchMs) / asked,
        perSecond,
      }
      before = after
      return cost
    },
  }))
  const bar = startProgressBar('Measuring CPU time', runsIn(rounds, contenders.length), process.stdout)
  const costs = await runRounds(contenders, { ...rounds, report: bar.reach }).finally(bar.end)
  const bytes = new Map<string, number>()
  for (const [name, request] of requests)
    bytes.set(name, request.expectedStatus === 304 ? 0 : (await ask(served, request, stage)).bytes)
  return { costs, bytes }
}

async function requestsFor(
  served: ServedWorld,
  accountKey: string,
  stage: Stage,
): Promise<Map<AnswerName, HttpRequest>> {
  const list = { limit: '20' }
  const { etag } = await ask(served, recordsRequest(accountKey, list), stage)
  if (etag === null) throw new Error('a list is answered without an ETag')
  return new Map<AnswerName, HttpRequest>([
    ['page of 20', recordsRequest(accountKey, list)],
    ['page of 100', recordsRequest(accountKey, { limit: '100' })],
    ['window without a change', recordsRequest(accountKey, { changedSince: new Date(newestMs + 1).toISOString() })],
    ['304', recordsRequest(accountKey, list, etag)],
  ])
}

async function ask(
  { origin }: ServedWorld,
  { path, headers }: HttpRequest,
  { signal }: Stage,
): Promise<{ etag: string | null; bytes: number }> {
  const answer = await fetch(origin + path, { headers: { ...headers, 'accept-encoding': 'identity' }, signal })
  const { byteLength } = await answer.arrayBuffer()
  return { etag: answer.headers.get('etag'), bytes: byteLength }
}
