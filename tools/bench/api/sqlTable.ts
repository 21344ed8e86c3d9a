import { readSubmissionRecord } from '../../../src/core/model/record.ts'
import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import { copyRows } from '../copyRows.ts'
import type { SqlAddress, SqlQuery } from '../load/job.ts'
import { connected } from '../postgres.ts'
import { allSubmissions, largeTeam, type SubmissionRecord } from './submissions.ts'

const creation = `
  CREATE TABLE submissions (
    team_id text NOT NULL, id text NOT NULL, created_at timestamptz NOT NULL,
    form_id text NOT NULL, status text NOT NULL, summary json NOT NULL
  )`
/** The second one holds the whole order of a team's list, and all that counting it takes. */
const indexing = `
  ALTER TABLE submissions ADD PRIMARY KEY (team_id, id);
  CREATE INDEX newest_first ON submissions (team_id, created_at DESC, id DESC)`

/** Stores the summaries of `records`, the same bytes as the replica serves, and makes the table ready to be read. */
export async function fillTable(
  address: SqlAddress,
  records: Iterable<SubmissionRecord>,
  signal: AbortSignal,
): Promise<void> {
  const storing = startProgressBar('Storing submissions in PostgreSQL', allSubmissions, process.stdout)
  await connected(address, async (client) => {
    await client.query(creation)
    await copyRows(client, 'submissions', Iterator.from(records).map(rowOf), storing.reach, signal)
    await client.query(indexing)
    await client.query('VACUUM ANALYZE submissions')
  }).finally(storing.end)
}

/** JSON on one line holds neither tabs nor line ends. */
function rowOf({ key, value }: SubmissionRecord): string[] {
  const read = readSubmissionRecord(Buffer.from(key), Buffer.from(value))
  if (!read.ok || read.value.live === null) throw new Error(`${key} is no submission`)
  const { teamId, live } = read.value
  const { id, submittedAt, formId, status, summary } = live.entity
  return [teamId, id, submittedAt, formId, status, summary.toString()]
}

/** A page of the large team's list and its exact total. */
export const pageQueries = (page: number, limit: number): SqlQuery[] => [
  {
    name: 'page',
    text: `SELECT summary::text FROM submissions WHERE team_id = $1
      ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3`,
    values: [largeTeam, limit, (page - 1) * limit],
  },
  count,
]

/** The same; the rows before the page are passed over in the index alone. */
export const pageByIndexQueries = (page: number, limit: number): SqlQuery[] => [
  {
    name: 'page by index',
    text: `SELECT summary::text FROM submissions JOIN (
        SELECT team_id, created_at, id FROM submissions WHERE team_id = $1
        ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3
      ) AS page USING (team_id, id)
      ORDER BY page.created_at DESC, id DESC`,
    values: [largeTeam, limit, (page - 1) * limit],
  },
  count,
]

const count: SqlQuery = {
  name: 'count',
  text: 'SELECT count(*) FROM submissions WHERE team_id = $1',
  values: [largeTeam],
}
