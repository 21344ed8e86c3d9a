import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, errors } from '@elastic/elasticsearch'
import { encodeBulk, sendBulk } from '../../indexer/bulk/bulkApi.ts'
import { type DocumentWrite, tombstones } from '../../indexer/convertRecord.ts'
import { erase } from '../../indexer/erase/erase.ts'
import { Generations } from '../../indexer/generations/generations.ts'
import { Reconciliation } from '../../indexer/generations/reconciliation.ts'
import { surveyIndices } from '../../indexer/status/surveyIndices.ts'
import { countOnly } from '../../src/api/search/clauses.ts'
import { readDetail, readDetails } from '../../src/api/search/details.ts'
import { searchTeam } from '../../src/api/search/hits.ts'
import { createIndexReader, probe } from '../../src/api/search/indexReader.ts'
import { openListSnapshot } from '../../src/api/search/listSnapshot.ts'
import { readPrimaries } from '../../src/api/search/readPrimaries.ts'
import { openSearchClient } from '../../src/api/search/searchClient.ts'
import { connectElasticsearch, type RequestOptions } from '../../src/core/elasticsearch/elasticsearch.ts'
import { kindsOf } from '../../src/core/elasticsearch/indices.ts'
import { readWhole, scan } from '../../src/core/elasticsearch/readDocuments.ts'
import { elasticsearchAnswers, isolatedNodesAnswerNothing } from '../../src/core/engines/readinessChecks.ts'
import type { DocumentId, EntityId, Revision, TeamId } from '../../src/core/model/ids.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import type { Check } from '../../src/core/monitoring/health.ts'
import { chooseDistinctPorts } from '../../tools/engines/ports.ts'
import { testConfig } from '../support/config.ts'
import { eventually } from '../support/eventually.ts'
import { closeAfterwards, useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { killPrograms, type Run, refusalOf, runCommand, untilReady } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { type Account, startSecuredElasticsearch } from '../support/securedElasticsearch.ts'
import { useFolder } from '../support/temporaryFolder.ts'
import { sourceOfSettings } from '../support/topicSettings.ts'

type Role = { cluster?: string[]; indices: { names: string[]; privileges: string[] }[] }

const roleNames = ['tidemark_api', 'tidemark_indexer', 'tidemark_verify', 'tidemark_erase'] as const
const roleOf = async (name: string): Promise<Role> =>
  JSON.parse(await readFile(`security/elasticsearch/${name}.json`, 'utf8')) as Role
/**
 * Elasticsearch 9.1 to 9.3 do not have this right in `read`. The Elasticsearch of these tests, 9.4, does: nothing fails in it without the
 * right's own line.
 */
const withinRead = 'indices:admin/shards/search_shards'
/** Each right of a role that no other one includes, and a role of all others. */
async function lessenedOf(of: (typeof roleNames)[number]): Promise<{ right: string; name: string; role: Role }[]> {
  const { cluster = [], indices } = await roleOf(of)
  const rights = [...cluster, ...(indices[0]?.privileges ?? [])].filter((right) => right !== withinRead)
  return rights.map((right) => {
    const left = (all: string[]): string[] => all.filter((each) => each !== right)
    const kept = indices.map(({ names, privileges }) => ({ names, privileges: left(privileges) }))
    // Elasticsearch takes no empty list of privileges.
    const role = { cluster: left(cluster), indices: kept.filter(({ privileges }) => privileges.length > 0) }
    return { right, name: `${of}_without_${right.replaceAll(/\W/g, '_')}`, role }
  })
}

const everyLessened = await Promise.all(roleNames.map(lessenedOf))
const [lessenedApi = [], lessenedIndexer = [], lessenedVerify = [], lessenedErase = []] = everyLessened
const lessened = everyLessened.flat()
const accounts: Account[] = [...roleNames, ...lessened.map(({ name }) => name)].map((name) => {
  return { name, password: `password-of-${name}`, roles: [name] }
})

const pipeline = usePipeline()
const folder = useFolder()
let prefix: string
const elasticsearch = useStarted('Elasticsearch', async () => {
  prefix = pipeline.names.INDEX_PREFIX
  const roles = new Map<string, Role>(lessened.map(({ name, role }) => [name, role]))
  for (const name of roleNames) roles.set(name, await roleOf(name))
  const yml = [...roles].map(([name, role]) => `${name}: ${JSON.stringify(role)}\n`).join('')
  return await startSecuredElasticsearch(yml.replaceAll('/tidemark-', `/${prefix}-`), accounts)
})
afterEach(async () => {
  killPrograms()
  const generations = generationsOf(keeperClient())
  for (const each of await generations.find()) await generations.delete(each)
})

const settingsAs = (name: string): Record<string, string> => ({
  ...pipeline.names,
  ELASTICSEARCH_URL: elasticsearch.engine.url,
  ELASTICSEARCH_CA_FILE: elasticsearch.caFile,
  ELASTICSEARCH_USERNAME: name,
  ELASTICSEARCH_PASSWORD: name === elasticsearch.keeper.name ? elasticsearch.keeper.password : `password-of-${name}`,
})
const clientAs = (name: string): Client => closeAfterwards(connectElasticsearch(testConfig(settingsAs(name))))
const keeperClient = (): Client => clientAs(elasticsearch.keeper.name)
const statusOf = async (answer: Promise<unknown>): Promise<number | undefined> => {
  const [result] = await Promise.allSettled([answer])
  if (result.status === 'fulfilled') return 200
  if (!(result.reason instanceof errors.ResponseError)) throw result.reason
  return result.reason.statusCode
}

/** Elasticsearch refuses every one of these requests. */
async function expectForbidden(refused: readonly Promise<unknown>[]): Promise<void> {
  expect(await Promise.all(refused.map(statusOf))).toEqual(refused.map(() => 403))
}

const team = 'acme' as TeamId
const form: DocumentWrite = {
  kind: 'forms',
  id: `${team}/f1` as DocumentId,
  teamId: team,
  version: 1 as Revision,
  source: Buffer.from(JSON.stringify({ teamId: team, createdAt: '2026-01-01T00:00:00.000Z' })),
}

const timeoutMs = 60_000
const options = (): RequestOptions => ({ signal: AbortSignal.timeout(timeoutMs), requestTimeout: timeoutMs })
const report = { step: () => undefined, progress: () => undefined, end: () => undefined }

const config = { INDEX_SHARDS: 1, INDEX_ANSWERS: true }
const generationsOf = (client: Client): Generations =>
  new Generations(client, { ...config, INDEX_PREFIX: prefix }, options())

/** Rejects with what a check of `/readyz` says. */
async function expectPassing(check: Check): Promise<void> {
  const outcome = await check(options().signal)
  if (!outcome.ok) throw new Error(outcome.problem)
}

/** Everything that an indexer and a rebuild ask of Elasticsearch. */
async function indexAndRebuild(name: string): Promise<void> {
  const client = clientAs(name)
  const { signal } = options()
  const generations = generationsOf(client)
  const from = await generations.create(1)
  await generations.fill(2, 'killed')
  const to = await generations.fill(2, 'rebuild')
  const bulk = encodeBulk(from.writeAliases, [form])
  const [outcome] = await sendBulk(client, bulk, [form], { requestTimeout: timeoutMs, signal })
  if (outcome?.kind !== 'written') throw new Error(JSON.stringify(outcome))
  await client.indices.refresh({ index: Object.values(from.indices) }, options())
  await client.cluster.health({ index: Object.values(from.indices), timeout: '1s' }, options())
  await expectPassing(elasticsearchAnswers(client, prefix))
  await expectPassing(isolatedNodesAnswerNothing(client))
  await generations.serve(from)
  const reconciliation = new Reconciliation({ config, elasticsearch: client, report, signal }, from, to, new Set())
  expect(await reconciliation.pass()).toEqual({ compared: 1, copied: 1 })
  await surveyIndices(client, prefix, signal)
  await generations.storeMeta(to, to)
  await generations.serve(to, true)
  expect(await generations.countReaders(from)).toBe(0)
  const [retired] = await generations.find()
  if (retired !== undefined) await generations.delete(retired)
}

/** Everything that the API asks of Elasticsearch. */
async function search(name: string): Promise<void> {
  const client = clientAs(name)
  const primaries = readPrimaries(openSearchClient(client, prefix, true), Date.now)
  const replica = createIndexReader(primaries, 1)
  const { signal } = options()
  await expectPassing(isolatedNodesAnswerNothing(client))
  await probe(replica, signal)
  const list = { ...replica, type: 'forms', teamId: team, indices: undefined } as const
  await readDetail(list, 'f1', signal)
  const snapshot = await openListSnapshot(list, 30_000)
  await snapshot.countsOf([], (send) => send(signal)).countByTime(undefined, 86_400_000)
  const all = { clause: { match_all: {} }, skip: 0 }
  await snapshot.rowsOf(await snapshot.keys([], all, 1, signal), signal)
  await readDetails(list, ['f1' as EntityId], false, signal)
  snapshot.close()
  await searchTeam(list, countOnly, signal)
  const path = `/${prefix}-forms/_pit`
  const opened = await replica.send({ method: 'POST', path, querystring: { keep_alive: '1m' } }, signal)
  const body = { id: (JSON.parse(opened.bytes.toString()) as { id: string }).id }
  const closed = await replica.send({ method: 'DELETE', path: '/_pit', querystring: {}, body }, signal)
  expect(closed).toMatchObject({ isFound: true })
}

/** Everything that a verification asks of Elasticsearch. */
async function readEverything(name: string): Promise<void> {
  const client = clientAs(name)
  const { signal } = options()
  const serving = await generationsOf(client).serving()
  if (serving === undefined) throw new Error('nothing serves')
  for (const index of Object.values(serving.indices)) {
    const query = { term: { _routing: team } }
    await client.count({ index, query }, options())
    for await (const _ of scan(client, index, { query, size: 250 }, { signal }));
    for await (const _ of readWhole(client, index, [form.id], { signal }));
  }
}

/** Everything that an erasure asks of Elasticsearch. */
async function eraseDeleted(name: string): Promise<void> {
  const settings = {
    'cleanup.policy': 'compact',
    'max.compaction.lag.ms': 1,
    'retention.ms': 1,
    'segment.ms': 1,
    'file.delete.delay.ms': 1,
  }
  const source = {
    ...sourceOfSettings(() => settings),
    offsetRanges: async () => new Map(),
    readTopic: async () => undefined,
  }
  const tools = {
    ...{ config: testConfig(settingsAs(name)), elasticsearch: clientAs(name), source, report, clock: Date.now },
    signal: options().signal,
  }
  expect(await erase(tools as unknown as Parameters<typeof erase>[0], erased)).toMatchObject({ erased: true })
}

const erased = `${team}/s1` as DocumentId

async function serveDeletion(): Promise<void> {
  await serveFirstGeneration()
  const key = { teamId: team, entityId: 's1' as EntityId }
  for (const { kind, id, version, source } of tombstones(key, kindsOf.submissions, { changedAt: toInstant(0) }))
    await keeperClient().index({
      ...{ index: `${prefix}-${kind}`, id, routing: team, version, version_type: 'external' },
      document: JSON.parse(source.toString()),
    })
}

async function serveFirstGeneration(): Promise<void> {
  const generations = generationsOf(keeperClient())
  await generations.serve(await generations.create(1))
}

describe('the roles of Elasticsearch', () => {
  test('an indexer and a rebuild have the rights they need, and none on other indices', async () => {
    await indexAndRebuild('tidemark_indexer')
    const [client, keeper] = [clientAs('tidemark_indexer'), keeperClient()]
    for (const index of ['other', `${prefix}-staging-forms-v1-1`]) {
      await keeper.index({ index, id: '1', document: {}, refresh: true })
      const actions = [{ add: { index, alias: `${prefix}-forms` } }]
      await expectForbidden([
        ...[client.search({ index }), client.index({ index, document: {} }), client.indices.delete({ index })],
        client.indices.updateAliases({ actions }),
      ])
      await keeper.indices.delete({ index })
    }
    expect(await statusOf(client.nodes.info())).toBe(403)
    expect(await statusOf(client.indices.create({ index: 'other' }))).toBe(403)
  })

  test.each(lessenedIndexer)('an indexer or a rebuild fails without $right', async ({ name }) => {
    await expect(indexAndRebuild(name)).rejects.toThrow(/security_exception/)
  })

  test('the API may read the serving indices, with snapshots, and change nothing', async () => {
    await serveFirstGeneration()
    await search('tidemark_api')

    const client = clientAs('tidemark_api')
    const index = `${prefix}-forms`
    const refused = [
      client.index({ index, document: {} }),
      client.delete({ index, id: form.id }),
      client.indices.refresh({ index }),
      client.indices.getMapping({ index }),
      client.indices.delete({ index: `${prefix}-forms-v1-1` }),
      client.indices.create({ index: `${prefix}-forms-v1-9` }),
      client.search({ index: 'other' }),
      client.cluster.state(),
      client.cluster.putSettings({ persistent: { 'cluster.no_master_block': 'write' } }),
    ]
    await expectForbidden(refused)
  })

  test.each(lessenedApi)('the API fails without $right', async ({ name }) => {
    await serveFirstGeneration()
    await expect(search(name)).rejects.toThrow(/security_exception/)
  })
})

describe('the role of a verification', () => {
  beforeAll(serveFirstGeneration)

  test('may read the serving indices, and change nothing', async () => {
    await readEverything('tidemark_verify')
    const client = clientAs('tidemark_verify')
    const refused = [
      client.index({ index: `${prefix}-forms`, document: {} }),
      client.indices.refresh({ index: `${prefix}-forms` }),
      client.indices.delete({ index: `${prefix}-forms-v1-1` }),
      client.search({ index: 'other' }),
      client.cluster.state(),
    ]
    await expectForbidden(refused)
  })

  test.each(lessenedVerify)('is not enough without $right', async ({ name }) => {
    await expect(readEverything(name)).rejects.toThrow(/security_exception|nothing serves/)
  })
})

describe('the role of an erasure', () => {
  beforeEach(serveDeletion)

  test('may remove deleted documents, and change nothing else', async () => {
    await eraseDeleted('tidemark_erase')
    const client = clientAs('tidemark_erase')
    const refused = [
      client.index({ index: `${prefix}-forms`, document: {} }),
      client.indices.flush({ index: 'other' }),
      client.search({ index: 'other' }),
      client.cluster.state(),
      client.snapshot.createRepository({ name: 'r', repository: { type: 'fs', settings: { location: 'r' } } }),
    ]
    await expectForbidden(refused)
  })

  test.each(lessenedErase)('is not enough without $right', async ({ name }) => {
    await expect(eraseDeleted(name)).rejects.toThrow(/security_exception|nothing serves|no complete generation/)
  })
})

describe('over TLS, each as its own user', () => {
  const ofIndexer = [['indexer', 'tidemark_indexer'] as const, ['rebuild', 'tidemark_indexer'] as const]
  const processes = [
    ...ofIndexer,
    ...(['api', 'verify', 'erase'] as const).map((name) => [name, `tidemark_${name}`] as const),
  ]

  test('passwords can be changed while the processes run, without a restart where they are in files', async () => {
    const file = join(folder, 'password')
    await writeFile(file, 'password-of-tidemark_indexer\n')
    const { ELASTICSEARCH_PASSWORD: _, ...others } = settingsAs('tidemark_indexer')
    const indexer = await pipeline.startIndexer({ ...others, ELASTICSEARCH_PASSWORD_FILE: file })
    await pipeline.createKeys(['acme'])
    const api = await pipeline.startApi(settingsAs('tidemark_api'))
    const change = (revision: number): Promise<void> =>
      pipeline.produce('forms', [stateRecord('forms', 'acme/form-1', revision, { title: `v${revision}` })])
    let asked = 0
    const titles = async (): Promise<string[] | number> => {
      // Another question each time: an answer that was kept needs no Elasticsearch.
      const { status, body } = await pipeline.get(api, 'acme', `/api/v1/forms?limit=${(++asked % 100) + 1}`)
      return status === 200 ? (body as { items: { title: string }[] }).items.map(({ title }) => title) : status
    }
    await change(1)
    await eventually(async () => String(await titles()) === 'v1')
    const verify = (): Promise<Run> => runCommand('verify', [], settingsAs('tidemark_verify'))
    await eventually(async () => (await verify()).code === 0)

    await elasticsearch.setAccounts(accounts.map((account) => ({ ...account, password: 'changed' })))
    await eventually(async () => (await titles()) === 503)
    await change(2)
    await eventually(async () => (await (await fetch(`${indexer.adminUrl}/readyz`)).text()).includes('401'))
    await writeFile(file, 'changed\n')
    await untilReady(indexer)
    const isApi = ({ name }: Account): boolean => name === 'tidemark_api'
    await elasticsearch.setAccounts(accounts.map((each) => (isApi(each) ? each : { ...each, password: 'changed' })))
    await eventually(async () => String(await titles()) === 'v2')
    await elasticsearch.setAccounts(accounts)
    expect(await indexer.metric('tidemark_records_total', '"dead-letter"')).toBe(0)
    for (const program of [indexer, api]) expect(await program.end('SIGTERM')).toBe(0)
  })

  test.each(processes)(
    '%s ends with exit code 78 and one line when password or certificate is refused',
    async (script, name) => {
      const args = script === 'erase' ? ['--team', team, '--submission', 's1'] : []
      const wrong = { ...settingsAs(name), ELASTICSEARCH_PASSWORD: 'hunter2' }
      expect(await refusalOf(script, wrong, args)).toBe(
        'ELASTICSEARCH_PASSWORD is refused by Elasticsearch for the user of ELASTICSEARCH_USERNAME\n',
      )
      const foreign = { ...settingsAs(name), ELASTICSEARCH_CA_FILE: elasticsearch.foreignCaFile }
      const line = /^ELASTICSEARCH_CA_FILE does not vouch for the certificate of 127\.0\.0\.1:\d+ \([A-Z_]+\)\n$/
      expect(await refusalOf(script, foreign, args)).toMatch(line)
    },
  )

  test('processes work while one of two nodes is unreachable, and report which', async () => {
    const [port = 0] = await chooseDistinctPorts(1)
    const two = (name: string): Record<string, string> => {
      const settings = settingsAs(name)
      return { ...settings, ELASTICSEARCH_URL: `https://127.0.0.1:${port},${settings['ELASTICSEARCH_URL']}` }
    }
    const indexer = await pipeline.startIndexer(two('tidemark_indexer'))
    const api = await pipeline.startApi(two('tidemark_api'))
    for (const program of [indexer, api]) {
      await eventually(() => new RegExp(`127.0.0.1:${port}.*does not answer well`).test(program.log()))
      expect(await program.end('SIGTERM')).toBe(0)
    }
  })
})
