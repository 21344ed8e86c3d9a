import { z } from 'zod'
import { type DocumentId, type EntityId, entityIdOf } from '../../core/model/ids.ts'
import { isObject } from '../../core/model/schema.ts'
import { type EntityPart, idInPosition, summaryDelimiter } from '../../core/stores/documents.ts'
import { bytesOf } from './clauses.ts'
import { ElasticsearchUnavailable, innermostType } from './searchClient.ts'

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
const errorSchema = z.object({ status: z.int(), error: z.looseObject({ type: z.string() }) })
const responsesSchema = z.object({ responses: z.array(z.unknown()) })

export type SearchAnswer = {
  /** The summary of each hit, byte for byte as it was stored. */
  readonly summaries: readonly Buffer[]
  /** Undefined unless the search asked for an exact total. */
  readonly total: number | undefined
  readonly aggregations: unknown
  readonly snapshotId: string | undefined
}

/** The error of one search of an `_msearch`. */
type SearchError = { readonly status: number; readonly type: string }

/**
 * Reads the response of a `_search`. Summaries are found by the delimiters around them, without parsing; the rest of the response is
 * parsed with a placeholder for each summary. Throws `ElasticsearchUnavailable` unless every shard succeeded.
 */
export function readAnswer(bytes: Buffer): SearchAnswer {
  const { envelope, summaries } = extractSummaries(bytes)
  return assignSummaries(summaries, (next) => answerOf(envelope, next))
}

/** Reads the response of an `_msearch`: one answer for each search, in order. */
export function readAnswers(bytes: Buffer): (SearchAnswer | SearchError)[] {
  const { envelope, summaries } = extractSummaries(bytes)
  const { responses } = parseWith(responsesSchema, envelope)
  return assignSummaries(summaries, (next) =>
    responses.map((response) => {
      if (!isObject(response) || response['error'] === undefined) return answerOf(response, next)
      const { status, error } = parseWith(errorSchema, response)
      return { status, type: innermostType(error) }
    }),
  )
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

/** Lets `read` take the summaries of its hits in order. Throws unless there are as many hits as summaries. */
function assignSummaries<T>(summaries: readonly Buffer[], read: (next: (count: number) => readonly Buffer[]) => T): T {
  let taken = 0
  const answer = read((count) => {
    taken += count
    return summaries.slice(taken - count, taken)
  })
  if (taken !== summaries.length) throw new ElasticsearchUnavailable('partial', 'a hit has no summary')
  return answer
}

function answerOf(response: unknown, next: (count: number) => readonly Buffer[]): SearchAnswer {
  const { hits, aggregations, pit_id } = parseWith(envelopeSchema, response)
  return { summaries: next(hits.hits.length), total: hits.total?.value, aggregations, snapshotId: pit_id }
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
