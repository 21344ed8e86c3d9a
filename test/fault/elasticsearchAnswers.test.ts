import { Client } from '@elastic/elasticsearch'
import { checkerTeam, startConsistencyChecker } from '../model/live.ts'
import { type BulkDocument, doesHalf, refusesDocuments } from '../support/bulkFaults.ts'
import {
  answersWith,
  cutsAnswer,
  cutsRequest,
  holdsAnswer,
  jsonAnswer,
  refusesWith,
} from '../support/elasticsearchFaults.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { Gate } from '../support/gate.ts'
import { expectWhole, smallHistory, untilCommitted } from '../support/indexingProgress.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram, untilReady } from '../support/programs.ts'

const maxBodyBytes = 12_000
const [bulk, refresh] = ['/_bulk', '/_refresh']
/** Of each part of an outage: before it, while it lasts, after it. */
const partSize = 40
const history = smallHistory(100, 3 * partSize * 20)

/** A fault of Elasticsearch that lasts until it is lifted, and how much of it the indexer has met. */
type Outage = { met(): number; lift(): unknown }
type Sign = {
  /** How much the indexer must meet before the outage ends. */
  readonly met?: number
  /** What the readiness probe must say of it: an outage that lasts is told. */
  readonly told?: RegExp
}

const pipeline = usePipeline()
const elasticsearch = useStarted('the proxy', () => startFaultyElasticsearch())
const indexer = useStarted('the indexer', () => pipeline.startIndexer({ ELASTICSEARCH_URL: elasticsearch.url }))
/** Its Elasticsearch does not fail. */
const api = useStarted('the API', () => pipeline.startApi())
const checker = useStarted('the checker', async () => {
  await pipeline.createKeys([...history.teams, checkerTeam])
  await pipeline.untilApplied(api, checkerTeam)
  return await startConsistencyChecker(pipeline, api)
})
afterEach(() => elasticsearch.restore())

async function unreadinessOf(program: Program): Promise<string> {
  const answer = await fetch(`${program.adminUrl}/readyz`)
  return answer.status === 503 ? await answer.text() : ''
}

let produced = 0
const produceMore = async (): Promise<void> => {
  await pipeline.produceHistory(history.records.slice(produced, produced + partSize))
  produced += partSize
}

/**
 * Records come before, during and after the outage. While it lasts, nothing is committed or promised too early; after it, the indexer goes
 * on without anybody touching it.
 */
async function survives(begin: () => Outage | Promise<Outage>, { met = 2, told }: Sign = {}): Promise<void> {
  await produceMore()
  const outage = await begin()
  try {
    await produceMore()
    await eventually(() => outage.met() >= met)
    if (told !== undefined) await eventually(async () => told.test(await unreadinessOf(indexer)))
    const { commits } = checker.checks()
    await eventually(() => checker.checks().commits > commits + 4)
  } finally {
    await outage.lift()
  }
  await produceMore()
  await untilReady(indexer)
  expect(checker.problems()).toEqual([])
}

/** Outage that only the indexer's own words can tell of. */
const unmeasured = (lift: () => unknown): Outage => ({ met: () => Number.POSITIVE_INFINITY, lift })

describe('Nothing is lost, and no watermark is too early, while Elasticsearch refuses', () => {
  test.each([
    [401, 'security_exception'],
    [429, 'circuit_breaking_exception'],
  ])('every write with %i', async (status, type) => {
    const told = new RegExp(`${status} ${type}`)
    await survives(() => elasticsearch.inject(bulk, refusesWith(status, type)), { told })
  })

  test('requests over a size, until the indexer sends smaller ones', async () => {
    const isLarge = { when: ({ body }: { body: Buffer }) => body.length > maxBodyBytes }
    const refusal = refusesWith(413, 'content_too_long_exception')
    await survives(() => elasticsearch.inject(bulk, refusal, isLarge), { met: 1 })
  })

  test('some documents of each request, with different statuses', async () => {
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
      return { met: () => heard.size, lift }
    }
    const statuses = [200, 201, 400, 404, 409, 429, 500, 503]
    await survives(begin, { met: statuses.length })
    expect([...heard].sort()).toEqual(statuses)
  })

  test('writes to an index, as on a full disk', async () => {
    const client = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '' })
    const index = `${pipeline.names.INDEX_PREFIX}-submissions`
    const block = (isBlocked: boolean) =>
      client.indices.putSettings({ index, settings: { 'index.blocks.read_only_allow_delete': isBlocked } })
    const begin = async (): Promise<Outage> => {
      await block(true)
      return unmeasured(() => block(false))
    }
    await survives(begin, { told: /cluster_block_exception/ })
    await client.close()
  })

  const someShards = { total: 8, successful: 4, failed: 0 }
  test.each([
    ['with an error', refusesWith(500, 'exception'), /exception/],
    ['on copies that still serve', answersWith(jsonAnswer(200, { _shards: someShards })), /only 4 of 8/],
  ])('refreshes, %s', async (_how, fault, told) => {
    // What it says of itself where a refresh has missed copies.
    elasticsearch.inject('/_cluster/health', answersWith(jsonAnswer(200, { status: 'yellow', active_shards: 8 })))
    await survives(() => elasticsearch.inject(refresh, fault), { told })
  })

  test('every write with 400, whatever the documents: none of them is a dead letter', async () => {
    await survives(() => elasticsearch.inject(bulk, refusesWith(400, 'media_type_header_exception')), { told: /400/ })
  })
})

describe('Nothing is lost, and no watermark is too early, while Elasticsearch answers wrongly or not at all:', () => {
  const html = { status: 200, headers: { 'content-type': 'text/html' }, body: Buffer.from('<h1>Bad Gateway</h1>') }
  const noJson = { ...jsonAnswer(200, {}), body: Buffer.from('{"items":[{"ind') }
  test.each([
    ['its connection breaks in the middle of a request', cutsRequest],
    ['its connection breaks in the middle of an answer', cutsAnswer],
    ['its answer is no JSON', answersWith(noJson)],
    ['something else answers in its place', answersWith(html)],
    ['it executes half of a bulk request', doesHalf],
  ])('%s', async (_what, fault) => {
    await survives(() => elasticsearch.inject(bulk, fault, { times: 3 }))
  })

  test('one answer is late, and other records are written meanwhile', async () => {
    const gate = new Gate()
    const begin = (): Outage => {
      const late = elasticsearch.inject(bulk, holdsAnswer(gate), { times: 1 })
      return { met: late.met, lift: () => gate.open() }
    }
    await survives(begin, { met: 1 })
  })
})

test('after all these faults the documents equal the newest records, and no other record is a dead letter', async () => {
  await expectWhole(pipeline, api, { ...history, records: history.records.slice(0, produced) })
  await untilCommitted(pipeline)
  expect(checker.problems()).toEqual([])
})

test('an indexer with an https URL for a port without TLS does not end, and reports it', async () => {
  const url = elasticsearch.url.replace('http:', 'https:')
  const misled = await startProgram('indexer', { ...pipeline.names, ELASTICSEARCH_URL: url })
  await eventually(async () => /SSL|TLS/i.test(await unreadinessOf(misled).catch(() => '')))
  expect((await fetch(`${misled.adminUrl}/livez`)).status).toBe(200)
  expect(await misled.end('SIGTERM')).toBe(0)
})
