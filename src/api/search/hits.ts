import { z } from 'zod'
import { isObject } from '../../core/model/schema.ts'
import { summaryDelimiter } from '../../core/stores/documents.ts'
import { ReplicaUnavailable } from './unavailable.ts'

const mark = summaryDelimiter.charCodeAt(0)
/** What stands in the place of a summary. */
const gap = Buffer.from('null')

/** Everything else that a `_search` tells, its summaries left out. */
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
const refusalSchema = z.object({ status: z.int(), error: z.object({ type: z.string() }) })
const answersSchema = z.object({ responses: z.array(z.unknown()) })

export type SearchAnswer = {
  /** The summary of each hit, byte for byte as it was stored. */
  readonly summaries: readonly Buffer[]
  /** Undefined unless the search counts. */
  readonly total: number | undefined
  readonly aggregations: unknown
  readonly snapshotId: string | undefined
}

/** One of several searches that was turned away. */
export type SearchRefusal = { readonly status: number; readonly type: string }

/**
 * Reads the answer of a `_search`. Summaries are found by the marks around them, not token by token; the rest of the answer is
 * parsed, and has a gap where each summary was. Throws `ReplicaUnavailable` unless every shard has answered in full.
 */
export function readAnswer(bytes: Buffer): SearchAnswer {
  const { envelope, summaries } = apart(bytes)
  return within(summaries, (next) => answerOf(envelope, next))
}

/** Reads the answer of an `_msearch` as `readAnswer` does: one for each search, in their order. */
export function readAnswers(bytes: Buffer): (SearchAnswer | SearchRefusal)[] {
  const { envelope, summaries } = apart(bytes)
  const { responses } = valid(answersSchema, envelope)
  return within(summaries, (next) =>
    responses.map((response) => {
      if (!isObject(response) || response['error'] === undefined) return answerOf(response, next)
      const { status, error } = valid(refusalSchema, response)
      return { status, type: error.type }
    }),
  )
}

/** The exact total of a search that counts. Throws `ReplicaUnavailable` when the answer has none. */
export function totalOf({ total }: SearchAnswer): number {
  if (total === undefined) throw new ReplicaUnavailable('partial', 'there is no total')
  return total
}

function apart(bytes: Buffer): { readonly envelope: unknown; readonly summaries: readonly Buffer[] } {
  const summaries: Buffer[] = []
  const others: Buffer[] = []
  let from = 0
  for (let open = bytes.indexOf(mark); open !== -1; open = bytes.indexOf(mark, from)) {
    const close = bytes.indexOf(mark, open + 1)
    if (close === -1) throw new ReplicaUnavailable('partial', 'a summary has no end')
    summaries.push(bytes.subarray(open + 1, close))
    others.push(bytes.subarray(from, open), gap)
    from = close + 1
  }
  others.push(bytes.subarray(from))
  return { envelope: parse(Buffer.concat(others).toString()), summaries }
}

/** Hands out the next few summaries to whoever reads hits; in the end there is none left, and none has been missing. */
function within<T>(summaries: readonly Buffer[], read: (next: (count: number) => readonly Buffer[]) => T): T {
  let taken = 0
  const answer = read((count) => {
    taken += count
    return summaries.slice(taken - count, taken)
  })
  if (taken !== summaries.length) throw new ReplicaUnavailable('partial', 'a hit has no summary')
  return answer
}

function answerOf(response: unknown, next: (count: number) => readonly Buffer[]): SearchAnswer {
  const { hits, aggregations, pit_id } = valid(envelopeSchema, response)
  return { summaries: next(hits.hits.length), total: hits.total?.value, aggregations, snapshotId: pit_id }
}

function valid<T>(schema: z.ZodType<T>, value: unknown): T {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  const issue = checked.error.issues[0]
  throw new ReplicaUnavailable('partial', `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
