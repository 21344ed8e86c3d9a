/**
 * An alternative that takes an afternoon: a consumer that upserts, and a small Koa handler. `node postgresPrograms.ts sink <topic>` · `… server
 * <port> <key> <team>`; `POSTGRES_URL` names the database.
 */
import { Readable } from 'node:stream'
import { Kafka } from 'kafkajs'
import Koa from 'koa'
import { Pool } from 'pg'

const [program, ...args] = process.argv.slice(2)
const pool = new Pool({ connectionString: process.env['POSTGRES_URL'], max: 16 })

const tables = `
  create table if not exists submissions (
    team_id text, id text, revision bigint, submitted_at timestamptz, updated_at timestamptz, summary json, report_result json,
    primary key (team_id, id));
  create index if not exists by_time on submissions (team_id, submitted_at desc, id desc);
  create index if not exists by_change on submissions (team_id, updated_at);`
const upsert = `
  insert into submissions
  select * from unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[], $5::timestamptz[], $6::json[], $7::json[])
  on conflict (team_id, id) do update set revision = excluded.revision, submitted_at = excluded.submitted_at,
    updated_at = excluded.updated_at, summary = excluded.summary, report_result = excluded.report_result
  where excluded.revision > submissions.revision`
const remove = 'delete from submissions where (team_id, id) in (select * from unnest($1::text[], $2::text[]))'

async function sink(topic: string): Promise<void> {
  await pool.query(tables)
  const consumer = new Kafka({ brokers: [process.env['KAFKA_BROKERS'] ?? ''] }).consumer({
    groupId: 'by-hand-postgres',
  })
  process.once('SIGTERM', () => void consumer.disconnect().then(() => process.exit()))
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    partitionsConsumedConcurrently: 4,
    eachBatch: async ({ batch }) => {
      const newest = new Map(
        batch.messages.map(({ key, value }) => [String(key), value && JSON.parse(value.toString())]),
      )
      const gone = [...newest].filter(([, record]) => !record?.submission).map(([key]) => key.split('/'))
      const rows = [...newest].flatMap(([key, record]) => {
        if (!record?.submission) return []
        const { reportResult, ...summary } = record.submission
        const { id, submittedAt, updatedAt } = summary
        return [
          [
            key.split('/')[0],
            id,
            record.revision,
            submittedAt,
            updatedAt,
            JSON.stringify(summary),
            JSON.stringify(reportResult),
          ],
        ]
      })
      if (rows.length > 0)
        await pool.query(
          upsert,
          [0, 1, 2, 3, 4, 5, 6].map((column) => rows.map((row) => row[column])),
        )
      if (gone.length > 0)
        await pool.query(
          remove,
          [0, 1].map((column) => gone.map((row) => row[column])),
        )
    },
  })
}

type Row = { readonly id: string; readonly at: string; readonly summary: object }

function serve(port: string, accountKey: string, teamId: string): void {
  async function* lines(updatedSince: string): AsyncGenerator<string> {
    const client = await pool.connect()
    try {
      await client.query('begin isolation level repeatable read')
      const text = `select id, submitted_at::text as at, summary from submissions where team_id = $1 and updated_at >= $2
        and (submitted_at, id) < ($3, $4) order by submitted_at desc, id desc limit 1000`
      for (let [at, id] = ['infinity', '']; ; ) {
        const { rows } = await client.query<Row>(text, [teamId, updatedSince, at, id])
        yield rows.map(({ summary }) => `${JSON.stringify(summary)}\n`).join('')
        const last = rows.at(-1)
        if (last === undefined) return
        ;({ at, id } = last)
      }
    } finally {
      await client.query('rollback')
      client.release()
    }
  }
  const list =
    'select summary from submissions where team_id = $1 order by submitted_at desc, id desc limit $2 offset $3'
  const count = 'select count(*)::int as total from submissions where team_id = $1'
  const app = new Koa()
  app.use(async (context) => {
    if (context.get('authorization') !== `Bearer ${accountKey}`) context.throw(401)
    const { limit = '20', page = '1', updatedSince = '-infinity' } = context.query as Record<string, string | undefined>
    if (context.accepts('json', 'application/x-ndjson') === 'application/x-ndjson') {
      context.body = Readable.from(lines(updatedSince))
    } else {
      const [rows, total] = await Promise.all([
        pool.query<Row>(list, [teamId, limit, (Number(page) - 1) * Number(limit)]),
        pool.query<{ total: number }>(count, [teamId]),
      ])
      context.body = { totalDocs: total.rows[0]?.total, items: rows.rows.map(({ summary }) => summary) }
    }
  })
  app.listen(Number(port), '127.0.0.1')
}

const [first = '', second = '', third = ''] = args
if (program === 'sink') await sink(first)
else serve(first, second, third)
