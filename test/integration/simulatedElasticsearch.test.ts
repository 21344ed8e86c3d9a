import { randomUUID } from 'node:crypto'
import { bulkQueries, encodeBulk, sendBulk, type VersionType } from '../../indexer/bulk/bulkApi.ts'
import { expectOwnIndices } from '../../indexer/bulk/bulkFailure.ts'
import { type DocumentWrite, formWrites, submissionWrites } from '../../indexer/convertRecord.ts'
import type { CommandTools } from '../../indexer/engineCommand.ts'
import { finishSwitch } from '../../indexer/generations/finishSwitch.ts'
import type { Generation } from '../../indexer/generations/generation.ts'
import { Generations } from '../../indexer/generations/generations.ts'
import { pruneLeftOver } from '../../indexer/generations/rebuild.ts'
import { Reconciliation } from '../../indexer/generations/reconciliation.ts'
import { refreshEveryCopy } from '../../indexer/refreshEveryCopy.ts'
import { surveyIndices } from '../../indexer/status/surveyIndices.ts'
import { ofTeam } from '../../src/api/search/clauses.ts'
import { createIndexReader, hasAny, type IndexReader } from '../../src/api/search/indexReader.ts'
import { openListSnapshot } from '../../src/api/search/listSnapshot.ts'
import { openSearchClient } from '../../src/api/search/searchClient.ts'
import type { RequestOptions } from '../../src/core/elasticsearch/elasticsearch.ts'
import { type DocumentKind, writeAliasOf } from '../../src/core/elasticsearch/indices.ts'
import { readWhole, scan } from '../../src/core/elasticsearch/readDocuments.ts'
import { type DocumentId, deletedRevision, type TeamId } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { redisKeys } from '../../src/core/redis/redisKeys.ts'
import type { Clients } from '../simulation/engines/elasticsearch/simulatedElasticsearch.ts'
import { connectReal, connectSimulated } from '../support/elasticsearchPair.ts'
import { eventually } from '../support/eventually.ts'
import { withMembers } from '../support/lifecycle.ts'
import { deletionOf, formRecord, recordedAt, submissionRecord } from '../support/replicaRecords.ts'

const instant = '2026-11-20T12:00:00.000Z' as Instant
const later = '2026-11-21T12:00:00.000Z' as Instant
const { signal } = new AbortController()
const options: RequestOptions = { signal, requestTimeout: 30_000 }
const config = { INDEX_ANSWERS: true }
const report = { step: () => undefined, progress: () => undefined, end: () => undefined }

describe.each([
  { engine: 'the real Elasticsearch', connect: connectReal },
  { engine: 'the simulated Elasticsearch', connect: connectSimulated },
])('$engine', ({ connect }) => {
  let clients: ReturnType<typeof connect>
  let prefix: string
  let generations: Generations
  let first: Generation
  let reader: IndexReader
  let team: TeamId

  let second: Generation

  beforeAll(async () => {
    clients = connect()
    prefix = `test-${randomUUID().slice(0, 8)}`
    generations = new Generations(clients.elasticsearch, { ...config, INDEX_PREFIX: prefix, INDEX_SHARDS: 2 }, options)
    first = await create(1)
    await generations.serve(first)
    second = await generations.fill(2, 'first')
    reader = createIndexReader(openSearchClient(clients.elasticsearch, prefix, true), 5)
  })
  afterAll(async () => {
    for (const each of await generations.find()) await generations.delete(each)
    await clients.elasticsearch.close()
  })
  // Each test has a team of its own.
  beforeEach(() => {
    team = `team-${randomUUID()}` as TeamId
  })

  const create = (number: number): Promise<Generation> => generations.create(number)
  const write = (documents: readonly DocumentWrite[], type?: VersionType, to = first) =>
    sendBulk(clients.elasticsearch, encodeBulk(to.writeAliases, documents, type), documents, options)
  const kinds = async (documents: readonly DocumentWrite[], type?: VersionType): Promise<readonly string[]> =>
    (await write(documents, type)).map(({ kind }) => kind)
  const refresh = (of = first): Promise<void> =>
    refreshEveryCopy(clients.elasticsearch, Object.values(of.indices), options)
  const submission = (id: string, revision = 1): DocumentWrite[] =>
    submissionWrites(submissionRecord(team, id, revision), recordedAt(instant), true)
  const list = () => ({ ...reader, type: 'submissions', teamId: team, version: null, indices: undefined }) as const
  const states = async (): Promise<readonly unknown[]> =>
    (await generations.find()).map(({ number, complete: is }) => [
      number,
      is?.isServing,
      is?.hasWriteAliases,
      is?.hasServed,
    ])
  const collect = async <T>(parts: AsyncIterable<readonly T[]>): Promise<T[]> => {
    const all: T[] = []
    for await (const part of parts) all.push(...part)
    return all
  }

  test('a generation is created once, and found with its aliases', async () => {
    expect(await create(1)).toEqual({ ...first, isServing: true, hasServed: true })
    expect(await states()).toEqual([
      [1, true, true, true],
      [2, false, false, false],
    ])
    const index = first.indices.forms
    const remove = { index, alias: writeAliasOf(index), must_exist: true }
    await clients.elasticsearch.indices.updateAliases({ actions: [{ remove }] })
    expect((await states())[0]).toEqual([1, true, false, true])
    await generations.restoreWriteAliases(first)
    expect((await states())[0]).toEqual([1, true, true, true])
  })

  test('each document of a bulk request is refused for its own error', async () => {
    const [list, detail] = submission('a') as [DocumentWrite, DocumentWrite]
    const other = { ...list, id: `${team}/b` as DocumentId }
    const notParsed = { kind: 'reject', reason: expect.stringContaining('document_parsing_exception') }
    const strict = { kind: 'suspect', reason: expect.stringContaining('strict_dynamic_mapping_exception') }
    const withSource = (text: string) => ({ ...other, source: Buffer.from(text) })
    expect(
      await write([
        withSource('{"teamId":"t","teamId":"t"}'),
        withSource('{"unknown":1}'),
        withSource('{"createdAt":"yesterday"}'),
        withSource('{'),
        { ...detail, id: `${team}/c` as DocumentId, source: Buffer.from('{"a":{"b":1,"b":2}}') },
        { ...detail, id: `${team}/d` as DocumentId, source: Buffer.from('{"a":{"b":1,"c":2}}') },
      ]),
    ).toMatchObject([notParsed, strict, notParsed, notParsed, notParsed, { kind: 'written' }])
    await clients.elasticsearch.indices.addBlock({ index: first.indices.submissions, block: 'write' })
    expect(await write(submission('e'))).toMatchObject([
      { kind: 'pause', reason: expect.stringContaining('cluster_block_exception') },
      { kind: 'written' },
    ])
    const alias = writeAliasOf(first.indices['submission-details'])
    const remove = { index: first.indices['submission-details'], alias, must_exist: true }
    await clients.elasticsearch.indices.updateAliases({ actions: [{ remove }] })
    expect((await write(submission('f')))[1]).toMatchObject({
      kind: 'pause',
      reason: expect.stringContaining('index_not_found_exception'),
    })
    await generations.restoreWriteAliases(first)
    await clients.elasticsearch.indices.removeBlock({ index: first.indices.submissions, block: 'write' })
    expect(await kinds(submission('g'))).toEqual(['written', 'written'])
  })

  test('a document whose shard has no copy is refused after a moment, and every other document of its request has a result', async () => {
    const own = `${prefix}-missing`
    const missing = new Generations(clients.elasticsearch, { ...config, INDEX_PREFIX: own, INDEX_SHARDS: 2 }, options)
    let created: Generation | undefined
    const give = await clients.createMissing(`${own}-submissions-v*`, async () => {
      created = await missing.create(1)
    })
    if (created === undefined) throw new Error('nothing was created')
    const teams = Array.from({ length: 20 }, (_, at) => `team-${at}` as TeamId)
    const documents = teams.flatMap((each) =>
      submissionWrites(submissionRecord(each, 's', 1), recordedAt(instant), true),
    )
    const body = encodeBulk(created.writeAliases, documents)
    const soon = { signal, requestTimeout: 20_000 }
    const outcomes = await sendBulk(clients.elasticsearch, body, documents, soon)
    const kindsOf = (kind: DocumentKind) =>
      new Set(outcomes.flatMap((outcome, at) => (documents[at]?.kind === kind ? [outcome.kind] : [])))
    expect([kindsOf('submissions'), kindsOf('submission-details')]).toEqual([
      new Set(['written', 'away']),
      new Set(['written']),
    ])
    const refreshing = refreshEveryCopy(clients.elasticsearch, Object.values(created.indices), soon)
    await expect(refreshing).rejects.toThrow('not every shard was refreshed')
    await give()
    await eventually(async () => {
      const again = await sendBulk(clients.elasticsearch, body, documents, options)
      return again.every(({ kind }) => kind === 'stale' || kind === 'written')
    })
    for (const each of await missing.find()) await missing.delete(each)
  })

  test('a request that writes nothing shows whether a shard accepts documents', async () => {
    const documents = [...formWrites(formRecord(team, 'p', 1), recordedAt(instant)), ...submission('p')]
    const ask = () => bulkQueries(clients.elasticsearch, first, options).acceptsWrites(documents)
    const count = async () => (await clients.elasticsearch.count({ index: Object.values(first.indices) })).count
    await clients.elasticsearch.indices.refresh({ index: Object.values(first.indices) })
    const before = await count()
    expect(await ask()).toEqual([true, true, true, true])
    await clients.elasticsearch.indices.refresh({ index: Object.values(first.indices) })
    expect(await count()).toBe(before)
    await clients.elasticsearch.indices.addBlock({ index: first.indices.submissions, block: 'write' })
    expect(await ask()).toEqual([true, true, false, true])
    await clients.elasticsearch.indices.removeBlock({ index: first.indices.submissions, block: 'write' })
  })

  test('a snapshot shows one moment until it is closed', async () => {
    const ids = Array.from({ length: 30 }, (_, at) => `s-${String(at).padStart(2, '0')}`)
    await write(ids.flatMap((id) => submission(id)))
    await write(submissionWrites(deletionOf(team, 's-07'), recordedAt(later), true))
    await refresh()
    const snapshot = await openListSnapshot(list(), 30_000)
    expect(await generations.countReaders(first)).toBe(1)
    await write(submission('s-99'))
    await refresh()
    const range = { clause: { range: { createdAt: { gte: '2000-01-01T00:00:00.000Z' as Instant } } }, skip: 0 }
    const remaining = ids.filter((id) => id !== 's-07').toReversed()
    const found = await snapshot.keys([], range, 10, signal)
    expect(found.map((key) => key.id)).toEqual(remaining.slice(0, 10))
    const rows = await snapshot.rowsOf(found, signal)
    expect(rows.map((row) => (JSON.parse(row.toString()) as { id: string }).id)).toEqual(remaining.slice(0, 10))
    snapshot.close()
    expect(await hasAny(list(), ofTeam(team, []), signal)).toBe(true)
    expect(await hasAny(list(), ofTeam(team, [{ term: { status: 'failed' } }]), signal)).toBe(false)
  })

  test('a reconciliation copies documents that the other generation lacks, and none twice', async () => {
    const tools = { config, elasticsearch: clients.elasticsearch, report, signal }
    const reconciliation = new Reconciliation(tools, first, second, new Set())
    await reconciliation.pass()
    await write([...submission('a', 2), ...submission('b'), ...submission('c'), ...submission('d')])
    await write(formWrites(formRecord(team, 'f', 1), recordedAt(instant)))
    await write(submissionWrites(deletionOf(team, 'd'), recordedAt(later), true))
    await write([...submission('a', 1), ...submission('b', 5), ...submission('c')], undefined, second)
    expect(await reconciliation.pass()).toEqual({ compared: 10, copied: 6 })
    expect(await reconciliation.pass()).toEqual({ compared: 0, copied: 0 })
    await write(submission('e'))
    await reconciliation.pass()
    const { startedWrites } = reconciliation
    // Indexers may go on writing.
    await write(submission('later'))
    expect(reconciliation.hasCompared(startedWrites)).toBe(true)
    expect(await reconciliation.pass()).toEqual({ compared: 2, copied: 2 })
    await refresh(second)
    const ids = ['a', 'b', 'c', 'd', 'e'].map((id) => `${team}/${id}` as DocumentId)
    const copied = await submissionsOf(second, ids)
    expect(copied.map(({ version }) => version)).toEqual([2, 5, 1, deletedRevision, 1])
  })

  test('a document that is written while one pass refreshes is compared by the next pass', async () => {
    const { elasticsearch } = clients
    let isFirst = true
    const refreshThenWrite = async (...asked: Parameters<typeof elasticsearch.indices.refresh>): Promise<unknown> => {
      const answer = await elasticsearch.indices.refresh(...asked)
      if (isFirst) await write(submission('late'))
      isFirst = false
      return answer
    }
    const indices = withMembers(elasticsearch.indices, { refresh: refreshThenWrite })
    const writing = withMembers(elasticsearch, { indices }) as unknown as Clients['elasticsearch']
    const reconciliation = new Reconciliation(
      { config, elasticsearch: writing, report, signal },
      first,
      second,
      new Set(),
    )
    await reconciliation.pass()
    await reconciliation.pass()
    await refresh(second)
    const late = [`${team}/late` as DocumentId]
    const found = await submissionsOf(second, late)
    expect(found.map(({ version }) => version)).toEqual([1])
  })

  test('a reconciliation compares shards at once, and an error in one ends the comparison of the other', async () => {
    const teams = Array.from({ length: 20 }, () => `team-${randomUUID()}` as TeamId)
    const documents = teams.flatMap((each) =>
      submissionWrites(submissionRecord(each, 'a', 1), recordedAt(instant), true),
    )
    await write(documents)
    const { elasticsearch } = clients
    const bothShardsCompared = Promise.withResolvers<void>()
    let comparisons = 0
    let endedBySignal = 0
    const failOnce = async (
      ...[params, sent]: Parameters<typeof elasticsearch.transport.request>
    ): Promise<unknown> => {
      if (params.path !== `/${second.indices.submissions}/_mget`)
        return await elasticsearch.transport.request(params, sent)
      comparisons++
      if (comparisons === 1) {
        await bothShardsCompared.promise
        throw new Error('the first shard is not answered')
      }
      bothShardsCompared.resolve()
      await new Promise((resolve) => sent?.signal?.addEventListener('abort', resolve))
      endedBySignal++
      throw sent?.signal?.reason
    }
    const transport = withMembers(elasticsearch.transport, { request: failOnce })
    const failing = withMembers(elasticsearch, { transport }) as unknown as Clients['elasticsearch']
    const tools = { config, elasticsearch: failing, report, signal }
    const reconciliation = new Reconciliation(tools, first, second, new Set())
    await expect(reconciliation.pass()).rejects.toThrow('the first shard is not answered')
    expect([comparisons, endedBySignal]).toEqual([2, 1])
    await expect(reconciliation.pass()).rejects.toThrow()
    expect(comparisons).toBe(2)
  })

  test('an index can be counted, and read completely for a verification', async () => {
    const before = await documentsIn('submissions')
    await write([...submission('a'), ...submission('b')])
    expect(await documentsIn('submissions')).toBe(before)
    await refresh()
    expect(await documentsIn('submissions')).toBe(before + 2)
    const index = first.indices.submissions
    const query = { term: { _routing: team } }
    expect((await clients.elasticsearch.count({ index, query })).count).toBe(2)
    const scanned = await collect(scan(clients.elasticsearch, index, { query, size: 250 }, { signal }))
    expect(scanned.map(({ id, version }) => [id, version]).sort()).toEqual([
      [`${team}/a`, 1],
      [`${team}/b`, 1],
    ])
    const all = scan(clients.elasticsearch, index, { query: { match_all: {} }, size: 250 }, { signal })
    expect(await collect(all)).toHaveLength(before + 2)
  })
  const submissionsOf = async ({ indices }: Generation, ids: readonly DocumentId[]) =>
    await collect(readWhole(clients.elasticsearch, indices.submissions, ids, { signal }))
  const documentsIn = async (kind: DocumentKind): Promise<number> => {
    const survey = await surveyIndices(clients.elasticsearch, prefix, signal)
    return survey.find(({ name }) => name === first.indices[kind])?.documents ?? Number.NaN
  }

  test('a rebuild can take over the generation of another rebuild, which then can neither write nor switch to it', async () => {
    expect((await write(submission('a'), undefined, second)).map(({ kind }) => kind)).toEqual(['written', 'written'])
    // As a rebuild that was killed while it took over would leave it.
    await clients.elasticsearch.indices.addBlock({ index: second.indices.forms, block: 'write' })
    const taken = await generations.fill(2, 'second')
    expect(await generations.fill(2, 'second')).toEqual(taken)
    const refused = await write(submission('b'), undefined, second)
    expect(refused).toMatchObject(Array(2).fill({ kind: 'pause', reason: '404 index_not_found_exception' }))
    expect(() => expectOwnIndices(refused)).toThrow('taken over by another one')
    expect((await write(submission('c'), undefined, taken)).map(({ kind }) => kind)).toEqual(['written', 'written'])
    second = taken
  })

  test('aliases move once, and only from where they were read; a retired generation is pruned', async () => {
    await write([...submission('kept'), ...submission('forgotten')])
    await refresh()
    expect(await states()).toEqual([
      [1, true, true, true],
      [2, false, false, false],
    ])
    const { elasticsearch } = clients
    // Another process moves them between this one's look and its request.
    const moveFirst = async (...asked: Parameters<typeof elasticsearch.indices.updateAliases>): Promise<unknown> => {
      await finishSwitch(generations, second.tag)
      return await elasticsearch.indices.updateAliases(...asked)
    }
    const indices = withMembers(elasticsearch.indices, { updateAliases: moveFirst })
    const late = withMembers(elasticsearch, { indices }) as unknown as Clients['elasticsearch']
    const lateGenerations = new Generations(late, { ...config, INDEX_PREFIX: prefix, INDEX_SHARDS: 2 }, options)
    await expect(lateGenerations.serve(second, true)).rejects.toThrow('aliases have been moved meanwhile')
    const switched = [
      [1, false, false, true],
      [2, true, true, true],
    ]
    expect(await states()).toEqual(switched)
    expect(await finishSwitch(generations, second.tag)).toHaveLength(2)
    expect(await states()).toEqual(switched)
    await expect(generations.fill(2, 'third')).rejects.toThrow("generation 2 is another rebuild's")
    const topics = { TOPIC_FORMS: 'forms', TOPIC_SUBMISSIONS: 'submissions' }
    const records = [`${team}/kept`, ...Array.from({ length: 100 }, (_, at) => `other/${at}`)]
    const source = {
      readTopic: async ({ onRecord }: Pick<Parameters<CommandTools['source']['readTopic']>[0], 'onRecord'>) => {
        for (const key of records) await onRecord({ key: Buffer.from(key) } as never)
      },
    }
    const redis = { client: { get: async () => second.tag }, keys: redisKeys(prefix) }
    const asked = { ...clients, redis, config: { INDEX_PREFIX: prefix, ...topics }, source, signal, report }
    const serving = (await generations.serving()) ?? second
    await pruneLeftOver(
      asked as unknown as CommandTools,
      serving,
      { hasAppendTimes: true, wrongPolicies: {}, keptMs: {} },
      new Set(),
    )
    await refreshEveryCopy(clients.elasticsearch, Object.values(second.indices), options)
    const ids = ['kept', 'forgotten'].map((id) => `${team}/${id}` as DocumentId)
    // Kafka holds no record of the other one any more: it was deleted since.
    expect((await submissionsOf(second, ids)).map(({ id }) => id)).toEqual([ids[0]])
    expect(await states()).toEqual([[2, true, true, true]])
  })
})
