import { z } from 'zod'
import { type DocumentId, type EntityId, entityIdOf, type TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { type EntityPart, idInPosition, summaryDelimiter } from '../../core/stores/documents.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { bytesOf } from './clauses.ts'
import { ElasticsearchUnavailable, type SearchClient, teamShard } from './searchClient.ts'

const delimiter = summaryDelimiter.charCodeAt(0)
/** Replaces each summary in the parsed rest of the response. */
const placeholder = Buffer.from('null')

/** A `_search` response with hits of this form. Parsing it fails unless every shard succeeded. */
const envelopeOf = <Hit extends z.ZodType>(hit: Hit) =>
  z.object({
    timed_out: z.literal(false),
    _shards: z.object({ failed: z.literal(0) }),
    hits: z.object({
      total: z.object({ value: z.int(), relation: z.literal('eq') }).optional(),
      hits: z.array(hit),
    }),
    aggregations: z.unknown().optional(),
    pit_id: z.string().optional(),
  })
/** The rest of a response, without the summaries. */
const envelopeSchema = envelopeOf(z.object({ _source: z.object({ summary: z.null() }) }))
/** In a snapshot, Elasticsearch adds a place to the sort values. Of a row that is not large, no size is stored. */
const keysSchema = envelopeOf(
  z.object({
    sort: z.tuple([z.string(), z.string()]).rest(z.unknown()),
    fields: z.record(z.string(), z.array(z.string())).optional(),
  }),
)
const deletionsSchema = envelopeOf(z.object({ _id: z.string(), sort: z.tuple([z.int()]) }))

export type SearchAnswer = {
  /** The summary of each hit, byte for byte as it was stored. */
  readonly summaries: readonly Buffer[]
  /** Undefined unless the search asked for an exact total. */
  readonly total: number | undefined
  readonly aggregations: unknown
  readonly snapshotId: string | undefined
}

/**
 * Searches the shard of a team in the index that serves one of its lists. `body` must select the team. Rejects with
 * `ElasticsearchUnavailable`, also when there is no such index or a part does not answer.
 */
export async function searchTeam<Answer = SearchAnswer>(
  { indexPrefix, send }: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
  read: (bytes: Buffer) => Answer = readAnswer as (bytes: Buffer) => Answer,
): Promise<Answer> {
  const path = `/${aliasOf(indexPrefix, kind)}/_search`
  const querystring = { ...teamShard(teamId), allow_partial_search_results: false }
  const { isFound, bytes } = await send({ method: 'POST', path, querystring, body }, signal)
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', kind)
  return read(bytes)
}

/**
 * Reads the response of a `_search`. Summaries are found by the delimiters around them, without parsing; the rest of the response is
 * parsed with a placeholder for each summary. Throws `ElasticsearchUnavailable` unless every shard succeeded.
 */
export function readAnswer(bytes: Buffer): SearchAnswer {
  const { envelope, summaries } = extractSummaries(bytes)
  const { hits, aggregations, pit_id } = parseWith(envelopeSchema, envelope)
  if (hits.hits.length !== summaries.length) throw new ElasticsearchUnavailable('partial', 'a hit has no summary')
  return { summaries, total: hits.total?.value, aggregations, snapshotId: pit_id }
}

/** What a search tells besides its hits. */
type SearchFacts = Pick<SearchAnswer, 'total' | 'snapshotId'>

/** Where a row stands in its list, and at most how many bytes it has if it is large. */
export type RowKey = { readonly position: string; readonly id: EntityId; readonly bytes: number | undefined }

/** Reads the response of a search by `newestFirst` that returns no documents: the key of each row. Throws like `readAnswer`. */
export function readKeys(
  bytes: Buffer,
  part: EntityPart,
): SearchFacts & { readonly keys: readonly RowKey[]; readonly last: readonly unknown[] | undefined } {
  const { hits, pit_id } = parseWith(keysSchema, parse(bytes.toString()))
  const keys = hits.hits.map(({ sort: [, position], fields }) => {
    const size = fields?.[bytesOf(part)]?.[0]
    return { position, id: idInPosition(position), bytes: size === undefined ? undefined : Number(size) }
  })
  return { keys, last: hits.hits.at(-1)?.sort, total: hits.total?.value, snapshotId: pit_id }
}

/** The deleted entities of a response, and the place of the last one in the snapshot. */
type Deletions = { readonly ids: readonly EntityId[]; readonly last: number | undefined }

/** Reads the response of a search for tombstones by their place in the snapshot. Throws like `readAnswer`. */
export function readDeletions(bytes: Buffer): SearchFacts & Deletions {
  const { hits, pit_id } = parseWith(deletionsSchema, parse(bytes.toString()))
  const ids = hits.hits.map(({ _id }) => entityIdOf(_id as DocumentId))
  return { ids, last: hits.hits.at(-1)?.sort[0], total: hits.total?.value, snapshotId: pit_id }
}

/** The exact total. Throws `ElasticsearchUnavailable` if the search did not count. */
export function totalOf({ total }: Pick<SearchAnswer, 'total'>): number {
  if (total === undefined) throw new ElasticsearchUnavailable('partial', 'there is no total')
  return total
}

function extractSummaries(bytes: Buffer): { readonly envelope: unknown; readonly summaries: readonly Buffer[] } {
  const summaries: Buffer[] = []
  const others: Buffer[] = []
  let from = 0
  for (let open = bytes.indexOf(delimiter); open !== -1; open = bytes.indexOf(delimiter, from)) {
    const close = bytes.indexOf(delimiter, open + 1)
    if (close === -1) throw new ElasticsearchUnavailable('partial', 'a summary has no end')
    summaries.push(bytes.subarray(open + 1, close))
    others.push(bytes.subarray(from, open), placeholder)
    from = close + 1
  }
  others.push(bytes.subarray(from))
  return { envelope: parse(Buffer.concat(others).toString()), summaries }
}

function parseWith<T>(schema: z.ZodType<T>, value: unknown): T {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  const issue = checked.error.issues[0]
  throw new ElasticsearchUnavailable('partial', `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`)
}

/** The value of JSON text; undefined for any other text. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
