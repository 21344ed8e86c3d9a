import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@elastic/elasticsearch'
import {
  type BulkDocument,
  doesHalf,
  hasSeveralEntities,
  refusesDocuments,
  reversesItems,
} from '../support/bulkFaults.ts'
import {
  answersWith,
  cutsAnswer,
  cutsRequest,
  holdsAnswer,
  jsonAnswer,
  refusesWith,
  resetsConnection,
} from '../support/elasticsearchFaults.ts'
import { submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import type { FaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { type FaultyPipeline, type Outage, openFaultyPipeline, unreadinessOf } from '../support/faultyPipeline.ts'
import { Gate } from '../support/gate.ts'
import { killPrograms, startProgram } from '../support/programs.ts'

const maxBodyBytes = 12_000

let faulty: FaultyPipeline
let elasticsearch: FaultyElasticsearch
let survives: FaultyPipeline['survives']
beforeAll(async () => {
  faulty = await openFaultyPipeline()
  elasticsearch = faulty.elasticsearch
  survives = faulty.survives
})
afterAll(async () => {
  killPrograms()
  await faulty.close()
})

/** Outage that only the indexer's own words can tell of. */
const unmeasured = (lift: () => unknown): Outage => ({ met: () => Number.POSITIVE_INFINITY, lift })

const bulk = '/_bulk'
const refresh = '/_refresh'

describe('Elasticsearch refuses for a while, and nothing is lost, doubled or promised too early:', () => {
  test.each([
    [401, 'security_exception'],
    [403, 'security_exception'],
    [404, 'index_not_found_exception'],
    [429, 'circuit_breaking_exception'],
    [500, 'exception'],
    [503, 'cluster_block_exception'],
  ])('every write with %i', async (status, type) => {
    await survives(() => elasticsearch.inject(bulk, refusesWith(status, type)), {
      told: new RegExp(`${status} ${type}`),
    })
  })

  test('its connections', async () => {
    const begin = async (): Promise<Outage> => {
      await elasticsearch.refuse()
      return unmeasured(() => elasticsearch.accept())
    }
    await survives(begin, { told: /ECONNREFUSED/ })
  })

  test('requests over a size, which smaller ones get round', async () => {
    const isLarge = { when: ({ body }: { body: Buffer }) => body.length > maxBodyBytes }
    const refusal = refusesWith(413, 'content_too_long_exception')
    await survives(() => elasticsearch.inject(bulk, refusal, isLarge), { met: 1 })
  })

  test('some documents of each request, each with a status of its own', async () => {
    const refusals = [undefined, 429, undefined, 500, 400, undefined, 503, 404]
    const heard = new Set<number>()
    /** Document → the statuses that it is still to be refused with: twice the same, but for one that is final when it is. */
    const plans = new Map<string, (number | undefined)[]>()
    const refusalOf = ({ index, id, version }: BulkDocument): number | undefined => {
      const name = `${index} ${id} ${version}`
      const status = refusals[plans.size % refusals.length]
      const plan = plans.get(name) ?? (status === 400 ? [status] : [status, status])
      plans.set(name, plan)
      return plan.shift()
    }
    const begin = (): Outage => {
      const refusing = refusesDocuments(refusalOf, (status) => heard.add(status))
      const { lift } = elasticsearch.inject(bulk, refusing)
      return { met: async () => ((await faulty.observer.isAllCommitted()) ? heard.size : 0), lift }
    }
    const statuses = [200, 201, 400, 404, 409, 429, 500, 503]
    await survives(begin, { met: statuses.length })
    expect([...heard].sort()).toEqual(statuses)
  })

  test('writes to an index as it does when the disk is full', async () => {
    const client = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '' })
    const index = `${faulty.pipeline.names['INDEX_PREFIX']}-submissions`
    const block = (isBlocked: boolean) =>
      client.indices.putSettings({ index, settings: { 'index.blocks.read_only_allow_delete': isBlocked } })
    const begin = async (): Promise<Outage> => {
      await block(true)
      return unmeasured(() => block(false))
    }
    await survives(begin, { told: /cluster_block_exception/ })
    await client.close()
  })

  test.each([
    ['refreshes, with an error', refusesWith(500, 'exception'), /exception/],
    [
      'refreshes on one shard',
      answersWith(jsonAnswer(200, { _shards: { total: 8, successful: 4, failed: 1 } })),
      /refresh failed on 1 shards/,
    ],
  ])('%s', async (_what, fault, told) => {
    await survives(() => elasticsearch.inject(refresh, fault), { told })
  })
})

describe('Elasticsearch answers wrongly or not at all for a while, and nothing is lost, doubled or promised too early:', () => {
  const badGateway = {
    status: 502,
    headers: { 'content-type': 'text/html' },
    body: Buffer.from('<h1>Bad Gateway</h1>'),
  }
  const noJson = { ...jsonAnswer(200, {}), body: Buffer.from('{"items":[{"ind') }
  test.each([
    ['it resets the connection', resetsConnection],
    ['it is cut off in the middle of a request', cutsRequest],
    ['it is cut off in the middle of its answer', cutsAnswer],
    ['its answer is no JSON', answersWith(noJson)],
    ['a proxy before it answers 502', answersWith(badGateway)],
    ['something else answers in its place', answersWith({ ...badGateway, status: 200 })],
    ['it does half of what it was sent', doesHalf],
    ['it answers an error with status 200', answersWith(jsonAnswer(200, { error: 'no items' }))],
  ])('%s', async (_what, fault) => {
    await survives(() => elasticsearch.inject(bulk, fault, { times: 3 }))
  })

  test('it answers items in another order', async () => {
    let documents = 0
    const refusesHalf = refusesDocuments(() => (documents++ % 4 < 2 ? 503 : undefined))
    const limits = { times: 2, when: hasSeveralEntities }
    await survives(() => elasticsearch.inject(bulk, reversesItems(refusesHalf), limits), { met: 1 })
  })

  test('it answers late, and others are written meanwhile', async () => {
    const gate = new Gate()
    const begin = (): Outage => {
      const late = elasticsearch.inject(bulk, holdsAnswer(gate), { times: 1 })
      return { met: late.met, lift: () => gate.open() }
    }
    await survives(begin, { met: 1 })
  })
})

/** What the indexer misreads is lost for good, so each answer has an indexer of its own. */
describe('An answer that says in an unusual way that nothing was done is not taken for success:', () => {
  let own: FaultyPipeline
  beforeEach(async () => {
    own = await openFaultyPipeline()
  })
  afterEach(() => own.close())

  /** The indexer tells of it, or has taken it for an answer to every record. */
  const toldOrTaken = ({ lift }: Outage, told: RegExp): Outage => ({
    met: async () => Number(told.test(await own.unreadiness()) || (await own.observer.isAllCommitted())),
    lift,
  })

  test('a refresh reaches no shard, and none has failed', async () => {
    const unreached = answersWith(jsonAnswer(200, { _shards: { total: 8, successful: 0, failed: 0 } }))
    await own.survives(() => toldOrTaken(own.elasticsearch.inject('/_refresh', unreached), /refresh/), { met: 1 })
  })

  test('a refresh misses copies that still serve, and none has failed', async () => {
    own.elasticsearch.inject('/_cluster/health', answersWith(jsonAnswer(200, { status: 'yellow', active_shards: 8 })))
    const missed = answersWith(jsonAnswer(200, { _shards: { total: 8, successful: 4, failed: 0 } }))
    await own.survives(() => toldOrTaken(own.elasticsearch.inject('/_refresh', missed), /only 4 of 8/), { met: 1 })
  })

  test('every write is answered 400, whatever the documents', async () => {
    const refusal = refusesWith(400, 'media_type_header_exception')
    await own.survives(() => toldOrTaken(own.elasticsearch.inject('/_bulk', refusal), /400/), { met: 1 })
  })

  test('one document is always answered 500: its record is named, and a dead letter after a minute', async () => {
    const submission = (id: string) => ({
      key: `stuck/${id}`,
      value: JSON.stringify({ revision: 1, submission: submissionEntity({ id }) }),
    })
    const isBad = ({ id, index }: BulkDocument): boolean => id === 'stuck/bad' && index.includes('submission-details')
    own.elasticsearch.inject(
      '/_bulk',
      refusesDocuments((document) => (isBad(document) ? 500 : undefined)),
    )
    await own.pipeline.produce('submissions', [submission('bad')])
    const named = / s at \S+\/\d+\/\d+, key stuck\/bad: 500 exception/
    await eventually(async () => named.test(await own.unreadiness()))
    for (let at = 0; (await own.unreadiness()) !== ''; at++) {
      await own.pipeline.produce('submissions', [submission(`good${at}`)])
      await sleep(1_000)
    }
    const [letter] = await own.pipeline.deadLetters(1)
    expect(letter).toMatchObject({ headers: { 'tidemark.path': 'document', 'tidemark.reason': '500 exception' } })
    expect(String(letter?.key)).toBe('stuck/bad')
    await own.observer.untilAllCommitted()
  })
})

test('told to speak TLS to a port that does not, the indexer stays up and says so', async () => {
  const url = elasticsearch.url.replace('http:', 'https:')
  const misled = await startProgram('indexer/main.ts', { ...faulty.pipeline.names, ELASTICSEARCH_URL: url })
  await eventually(async () => /SSL|TLS/i.test(await unreadinessOf(misled).catch(() => '')))
  expect((await fetch(`${misled.adminUrl}/livez`)).status).toBe(200)
  expect(await misled.end('SIGTERM')).toBe(0)
})
