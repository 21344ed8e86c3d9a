/**
 * An alternative that takes an afternoon: a sink like that of Kafka Connect (offsets as external versions), and a small Koa handler. `node
 * elasticsearchPrograms.ts sink <topic>` · `… server <port> <key> <team>`
 */
import { Readable } from 'node:stream'
import { Client } from '@elastic/elasticsearch'
import { Kafka } from 'kafkajs'
import Koa from 'koa'

const [program, ...args] = process.argv.slice(2)
const client = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '' })
const index = 'by-hand'

async function sink(topic: string): Promise<void> {
  const keyword = { type: 'keyword' } as const
  const date = { type: 'date' } as const
  const kept = { type: 'object', enabled: false } as const
  const properties = {
    teamId: keyword,
    id: keyword,
    submittedAt: date,
    updatedAt: date,
    summary: kept,
    reportResult: kept,
  }
  await client.indices.create(
    { index, settings: { number_of_replicas: 0 }, mappings: { properties } },
    { ignore: [400] },
  )
  const consumer = new Kafka({ brokers: [process.env['KAFKA_BROKERS'] ?? ''] }).consumer({
    groupId: 'by-hand-elasticsearch',
  })
  process.once('SIGTERM', () => void consumer.disconnect().then(() => process.exit()))
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    partitionsConsumedConcurrently: 4,
    eachBatch: async ({ batch }) => {
      const operations = batch.messages.flatMap(({ key, value, offset }): object[] => {
        const action = { _index: index, _id: String(key), version: Number(offset), version_type: 'external' as const }
        const submission = value && JSON.parse(value.toString()).submission
        if (!submission) return [{ delete: action }]
        const { reportResult, ...summary } = submission
        const { id, submittedAt, updatedAt } = summary
        return [
          { index: action },
          { teamId: String(key).split('/')[0], id, submittedAt, updatedAt, summary, reportResult },
        ]
      })
      const { items } = await client.bulk({ operations })
      const failed = items.flatMap(({ index, delete: gone }) => (index ?? gone)?.error ?? [])
      const unexpected = failed.find(({ type }) => type !== 'version_conflict_engine_exception')
      if (unexpected) throw new Error(unexpected.reason ?? unexpected.type)
    },
  })
}

type Row = { readonly summary: object }

function serve(port: string, accountKey: string, teamId: string): void {
  const inTeam = (updatedSince = '1970-01-01') => ({
    bool: { filter: [{ term: { teamId } }, { range: { updatedAt: { gte: updatedSince } } }] },
  })
  const newestFirst = [{ submittedAt: 'desc' as const }, { id: 'desc' as const }]
  async function* lines(query: object): AsyncGenerator<string> {
    const search = { index, query, sort: newestFirst, size: 1_000, _source: ['summary'] }
    for await (const { documents } of client.helpers.scrollSearch<Row>(search))
      yield documents.map(({ summary }) => `${JSON.stringify(summary)}\n`).join('')
  }
  const app = new Koa()
  app.use(async (context) => {
    if (context.get('authorization') !== `Bearer ${accountKey}`) context.throw(401)
    const { limit = '20', page = '1', updatedSince } = context.query as Record<string, string | undefined>
    const query = inTeam(updatedSince)
    if (context.accepts('json', 'application/x-ndjson') === 'application/x-ndjson') {
      context.body = Readable.from(lines(query))
    } else {
      const from = (Number(page) - 1) * Number(limit)
      const search = { index, query, sort: newestFirst, from, size: Number(limit), track_total_hits: true }
      const { hits } = await client.search<Row>({ ...search, _source: ['summary'] })
      const total = typeof hits.total === 'object' ? hits.total.value : hits.total
      context.body = { totalDocs: total, items: hits.hits.map(({ _source }) => _source?.summary) }
    }
  })
  app.listen(Number(port), '127.0.0.1')
}

const [first = '', second = '', third = ''] = args
if (program === 'sink') await sink(first)
else serve(first, second, third)
