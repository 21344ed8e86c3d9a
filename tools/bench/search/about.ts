import { rounds } from '../measuring.ts'
import { withoutPostgres } from '../postgres.ts'
import { roundMs } from './comparisons.ts'
import type { SampleForms } from './forms.ts'
import { triedEach } from './recall.ts'

/** Why PostgreSQL is not measured, or that it is. */
export type SqlState = 'measured' | 'no PostgreSQL' | 'no pg_trgm'

const aboutSql: Readonly<Record<SqlState, string>> = {
  measured:
    "PostgreSQL: one table (team_id, id, created_at, title) with an index (team_id, created_at desc, id desc) and a GIN index of the title’s trigrams (pg_trgm), vacuumed; prepared statements through pg, the total by `count(*) OVER ()`. What is spelt right is asked by `ILIKE '%…%'`, what is misspelt by `<%` with its threshold as it comes (0.6). No API stands before it. Its ratio is to the API.",
  'no PostgreSQL': withoutPostgres,
  'no pg_trgm':
    'PostgreSQL is left out: it has no extension pg_trgm. Debian, Ubuntu: apt-get install postgresql-contrib.',
}

/** What to know when reading the figures. */
export const about = ({ size, largestTeam, smallTeam }: SampleForms, sql: SqlState): string[] => [
  `${count(size.forms)} titles in seven languages, of ${count(size.teams)} teams whose sizes fall with their rank: ${count(largestTeam.forms)} of the largest team, ${count(smallTeam.forms)} of the small one, which has the median size. They are made, words as frequent as in real titles, and the same in every run. The list documents are those that an indexer would store.`,
  `Each round runs every contender once and begins with another one; ${rounds.warmUps} to warm up, ${rounds.measured} measured. Figures are the median of the rounds (lowest–highest). A ratio is taken within each round, of median latencies.`,
  `One request after the other over one kept connection. A round asks each text once, or as many as fit into ${roundMs / 1_000} s ("asked a round"); the order is the same for all contenders. Each text is made from a title of the team. Before measuring, the API is asked: what is spelt right must find titles that hold it, what is misspelt must find similar ones alone; the others are dropped.`,
  'The load generator is a thread of its own (undici), on the same machine: client, API and engines share its cores.',
  'Plain index: what a first attempt would build. All teams share a text field (standard analyzer) and a lower-cased keyword; one `_search` asks `match` (fuzziness AUTO, operator and) or `wildcard` (`*typed*`), filtered by team, routed, with the same order, size and exact total. Beside it, the part alone that can find what is typed so. It is asked directly over HTTP, no API before it, which favours it; nobody parses its answers. Its order within the index and its stored rows are those of the replica.',
  aboutSql[sql],
  'Both indices are merged to one segment before they are measured and weighed.',
  `Misspelt texts that find their title: the first ${triedEach} of each kind as they were made, before any was dropped; one letter more, less or another, or two swapped. Found means anywhere among all rows, which is asked by the search together with the one form; a text that as it stands finds other titles has not found its own.`,
  'Before measuring, the teams’ lists are compared: everyone has the same total and the same newest rows.',
]

const count = (value: number): string => value.toLocaleString('en')
