import { randomUUID } from 'node:crypto'
import { encodeBulk, sendBulk } from '../../indexer/bulk/bulkApi.ts'
import { type DocumentWrite, formWrites, submissionWrites } from '../../indexer/convertRecord.ts'
import type { Generation } from '../../indexer/generations/generation.ts'
import { Generations } from '../../indexer/generations/generations.ts'
import { readLogStatesOfDocuments } from '../../indexer/logStatesOfDocuments.ts'
import { refreshEveryCopy } from '../../indexer/refreshEveryCopy.ts'
import { exportList } from '../../src/api/search/exportRows.ts'
import { createIndexReader, type IndexReader } from '../../src/api/search/indexReader.ts'
import type { QueryTurns, RunQuery } from '../../src/api/search/queryTurns.ts'
import { openSearchClient } from '../../src/api/search/searchClient.ts'
import { readPage, renderPage } from '../../src/api/search/searchPage.ts'
import { submissionsFilters } from '../../src/api/submissions.ts'
import type { TeamId } from '../../src/core/model/ids.ts'
import { type Instant, toInstant } from '../../src/core/model/instant.ts'
import { reportStatuses } from '../../src/core/model/submission.ts'
import type { Clients } from '../simulation/engines/elasticsearch/simulatedElasticsearch.ts'
import { connectReal, connectSimulated } from '../support/elasticsearchPair.ts'
import { type Random, seeded } from '../support/random.ts'
import { deletionOf, formRecord, recordedAt, submissionRecord } from '../support/replicaRecords.ts'

const asIs = (row: Buffer): Buffer => row

const steps = 250
const teams = ['acme', 'Acme', 'b.team:1'] as TeamId[]
const ids = ['k', 'k_', 'K', '.', '-1', 'a:b', 'z9', ...Array.from({ length: 25 }, (_, at) => `s${at}`)]
const forms = ['form-1', 'form-2']
const scenes = ['knowledge_quiz', 'scored_quiz']
const startMs = Date.parse('2026-03-01T10:00:00.000Z')
const { signal } = new AbortController()
const request = { signal, requestTimeout: 30_000 }
/** Nothing waits for a turn. */
const run: RunQuery = (send) => send(signal)
const turns: QueryTurns = { run, runPart: run, reserve: async () => () => undefined }

type Replica = { readonly clients: Clients; readonly generation: Generation; readonly reader: IndexReader }

let replicas: readonly Replica[]
const prefix = `test-${randomUUID().slice(0, 8)}`
beforeAll(async () => {
  replicas = await Promise.all(
    [connectReal(), connectSimulated()].map(async (clients) => {
      const config = { INDEX_PREFIX: prefix, INDEX_SHARDS: 2, INDEX_ANSWERS: true }
      const generations = new Generations(clients.elasticsearch, config, request)
      const generation = await generations.create(1)
      await generations.serve(generation)
      const reader = createIndexReader(openSearchClient(clients.elasticsearch, prefix, true), 8)
      return { clients, generation, reader }
    }),
  )
})
afterAll(async () => {
  for (const { clients, generation } of replicas) {
    await clients.elasticsearch.indices.delete({ index: Object.values(generation.indices) })
    await clients.elasticsearch.close()
  }
})

/** What both answer to the same question. */
const both = <T>(ask: (replica: Replica) => Promise<T>): Promise<T[]> => Promise.all(replicas.map(ask))

/** Few instants, so that many are equal. */
const someInstant = (random: Random): Instant =>
  toInstant(startMs + random.pick([0, 0, 1, 1_000, 86_400_000 * random.below(40)]))

function randomWrites(random: Random): DocumentWrite[] {
  const [team, id, recorded] = [
    random.pick(teams),
    random.pick(ids),
    recordedAt(someInstant(random), random.below(1_000)),
  ]
  const isForm = random.chance(0.3)
  if (random.chance(0.12)) return (isForm ? formWrites : submissionWrites)(deletionOf(team, id), recorded, true)
  const revision = 1 + random.below(30)
  if (isForm) {
    const members = { scene: random.pick(scenes), title: `Title ${revision}`, createdAt: someInstant(random) }
    return formWrites(formRecord(team, id, revision, members), recorded)
  }
  const status = random.pick(reportStatuses)
  const members = {
    ...{ formId: random.pick(forms), submittedAt: someInstant(random), data: { q: `é\t"${revision}` } },
    result: { status, score: revision / 8 },
    reportResult: { status },
  }
  return submissionWrites(submissionRecord(team, id, revision, members), recorded, true)
}

const write = (random: Random): Promise<unknown> => {
  const documents = Array.from({ length: 1 + random.below(12) }, () => randomWrites(random)).flat()
  const versionType = random.pick(['external', 'external', 'external_gte'] as const)
  return both(({ clients, generation }) =>
    sendBulk(clients.elasticsearch, encodeBulk(generation.writeAliases, documents, versionType), documents, request),
  )
}

const refresh = (): Promise<unknown> =>
  both(({ clients, generation }) => refreshEveryCopy(clients.elasticsearch, Object.values(generation.indices), request))

function readList(random: Random): Promise<unknown> {
  const team = random.pick(teams)
  const maybe = <T>(value: () => T): T | undefined => (random.chance(0.3) ? value() : undefined)
  const bound = (): Instant => someInstant(random)
  const selection = {
    ...{ formId: maybe(() => random.pick(forms)), status: maybe(() => random.pick(reportStatuses)) },
    ...{ since: maybe(bound), until: maybe(bound), changedSince: maybe(bound), changedUntil: maybe(bound) },
  } as Parameters<typeof submissionsFilters>[1]
  const isForms = random.chance(0.3)
  const filters = isForms
    ? ([random.chance(0.5) ? [] : [{ term: { scene: random.pick(scenes) } }]] as const)
    : submissionsFilters(team, selection, true)
  const type = isForms ? 'forms' : 'submissions'
  const list = { type, teamId: team, version: null, indices: undefined } as const
  const page = { page: 1 + random.below(4), limit: random.pick([1, 3, 7, 20]) }
  if (random.chance(0.8))
    return both(async ({ reader }) => {
      return renderPage(page, await readPage({ ...reader, ...list }, filters, page, turns), asIs).toString()
    })
  const content = { filters, view: 'summary', pick: asIs } as const
  return both(async ({ reader }) => {
    const lines: string[] = []
    for await (const part of exportList({ ...reader, ...list }, content, run)) lines.push(...part.map(String))
    return lines
  })
}

const readLogs = (): Promise<unknown> =>
  both(async ({ clients, generation }) => {
    const partitions = [
      { topic: 'forms', partition: 0, type: 'forms' },
      { topic: 'submissions', partition: 0, type: 'submissions' },
      { topic: 'submissions', partition: 1, type: 'submissions' },
    ] as const
    const logs = await readLogStatesOfDocuments(clients.elasticsearch, generation, partitions, request)
    return [...logs].map(([name, { prefixes }]) => [
      name,
      prefixes.map(({ below, latestMs }) => [String(below), latestMs]),
    ])
  })

const actions = [write, refresh, readLogs, readList, readList, readList]

test('after any writes, deletions and refreshes, the real and the simulated Elasticsearch answer the same bytes', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const random = seeded(seed)
  for (let step = 0; step < steps; step++) {
    const action = random.pick(actions)
    const [real, simulated] = (await action(random)) as unknown[]
    const asked = { seed, step, action: action.name }
    expect({ ...asked, answer: simulated }).toEqual({ ...asked, answer: real })
  }
})
