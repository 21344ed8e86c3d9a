import { z } from 'zod'
import { summaryMark } from '../replica/documents.ts'
import { ReplicaUnavailable } from './unavailable.ts'

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

export type SearchAnswer = {
  /** The summary of each hit as raw text, byte for byte as it was stored. */
  readonly summaries: readonly string[]
  /** Undefined unless the search counts. */
  readonly total: number | undefined
  readonly aggregations: unknown
  readonly snapshotId: string | undefined
}

/**
 * Reads the answer of a `_search`. Summaries are found by the marks around them, not token by token; the rest of the answer is
 * parsed, and has a gap where each summary was. Throws `ReplicaUnavailable` unless every shard has answered in full.
 */
export function readAnswer(text: string): SearchAnswer {
  const parts = text.split(summaryMark)
  const summaries = parts.filter((_, at) => at % 2 === 1)
  const envelope = envelopeSchema.safeParse(parse(parts.filter((_, at) => at % 2 === 0).join('null')))
  if (!envelope.success) throw new ReplicaUnavailable('partial', firstIssue(envelope.error))
  const { hits, aggregations, pit_id } = envelope.data
  if (hits.hits.length !== summaries.length) throw new ReplicaUnavailable('partial', 'a hit has no summary')
  return { summaries, total: hits.total?.value, aggregations, snapshotId: pit_id }
}

/** The exact total of a search that counts. Throws `ReplicaUnavailable` when the answer has none. */
export function totalOf({ total }: SearchAnswer): number {
  if (total === undefined) throw new ReplicaUnavailable('partial', 'there is no total')
  return total
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0]
  return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`
}
