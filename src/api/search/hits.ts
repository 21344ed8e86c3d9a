import { z } from 'zod'
import { isObject } from '../../core/model/schema.ts'
import { summaryDelimiter } from '../../core/stores/documents.ts'
import { ElasticsearchUnavailable } from './searchClient.ts'

const delimiter = summaryDelimiter.charCodeAt(0)
/** Replaces each summary in the parsed rest of the response. */
const placeholder = Buffer.from('null')

/** The rest of a `_search` response. */
const envelopeSchema = z.object({
  timed_out: z.literal(false),
  _shards: z.object({ failed: z.literal(0) }),
  hits: z.object({
    total: z.object({ value: z.int(), relation: z.literal('eq') }).optional(),
    hits: z.array(z.object({ _source: z.object({ summary: z.null() }) })),
  }),
  aggregations: z.unknown().optional(),
  pit_id: z.string().optional(),
})
const errorSchema = z.object({ status: z.int(), error: z.object({ type: z.string() }) })
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
      return { status, type: error.type }
    }),
  )
}

/** The exact total. Throws `ElasticsearchUnavailable` if the search did not count. */
export function totalOf({ total }: SearchAnswer): number {
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
