import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import { copyRows } from '../copyRows.ts'
import type { SqlAddress, SqlQuery } from '../load/job.ts'
import { connected } from '../postgres.ts'
import { pageLimit } from './api.ts'
import type { SampleForm, SampleForms } from './forms.ts'

const creation = `
  CREATE EXTENSION pg_trgm;
  CREATE TABLE forms (team_id text NOT NULL, id text NOT NULL, created_at timestamptz NOT NULL, title text NOT NULL)`
const indexing = `
  ALTER TABLE forms ADD PRIMARY KEY (team_id, id);
  CREATE INDEX newest_first ON forms (team_id, created_at DESC, id DESC);
  CREATE INDEX title_trigrams ON forms USING gin (title gin_trgm_ops)`

/** Stores the titles and makes the table ready to be searched; false when there is no pg_trgm to do it with. */
export async function fillTable(address: SqlAddress, forms: SampleForms, signal: AbortSignal): Promise<boolean> {
  return await connected(address, async (client) => {
    const { rows: found } = await client.query("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'")
    if (found.length === 0) return false
    const bar = startProgressBar('Storing titles in PostgreSQL', forms.size.forms, process.stdout)
    const rows = forms.all().map(({ teamId, id, createdAt, title }) => [teamId, id, createdAt, title.text])
    await client.query(creation)
    await copyRows(client, 'forms', rows, bar.reach, signal).finally(bar.end)
    process.stdout.write('Indexing titles in PostgreSQL\n')
    await client.query(indexing)
    await client.query('VACUUM ANALYZE forms')
    return true
  })
}

const page = (name: string, condition: string, values: SqlQuery['values']): SqlQuery => ({
  name,
  text: `SELECT id, title, created_at, count(*) OVER () AS total FROM forms WHERE team_id = $1 ${condition}
    ORDER BY created_at DESC, id DESC LIMIT ${pageLimit}`,
  values,
})

/** The first rows of all that a team has, and their total. */
export const sqlList = (teamId: string): SqlQuery => page('list', '', [teamId])

/** Titles that hold what was typed as one piece. */
export const sqlExact = (teamId: string, typed: string): SqlQuery =>
  page('exact', 'AND title ILIKE $2', [teamId, `%${typed}%`])

/** Titles with a stretch of words that shares enough trigrams with what was typed: 0.6 of them, as it comes. */
export const sqlSimilar = (teamId: string, typed: string): SqlQuery =>
  page('similar', 'AND $2 <% title', [teamId, typed])

/** The same, of one form only. */
export const sqlSimilarOne = ({ teamId, id }: SampleForm, typed: string): SqlQuery =>
  page('similar, one', 'AND $2 <% title AND id = $3', [teamId, typed, id])
