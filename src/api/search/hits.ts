import { z } from 'zod'
import { type EntityPart, idInPosition, summaryDelimiter } from '../../core/elasticsearch/documentFormat.ts'
import type { EntityId } from '../../core/model/ids.ts'
import { attempt } from '../../core/model/schema.ts'
import { sizeField } from './clauses.ts'
import { ElasticsearchUnavailable, requestShard, type SearchedList } from './searchClient.ts'

export type SearchBody = Readonly<Record<string, unknown>>

/** Before and after each summary in a response, and nowhere else. */
const delimiter = summaryDelimiter.charCodeAt(0)
/** Replaces each summary before the response is parsed. */
const placeholder = Buffer.from('null')

const hitSchema = z.object({
  _id: z.string().optional(),
  _source: z
    .object({
      summary: z.null().optional(),
      changedAt: z.string().optional(),
      tombstone: z.object({ deletedAt: z.string() }).optional(),
    })
    .optional(),
  sort: z.array(z.unknown()).optional(),
  fields: z.record(z.string(), z.array(z.string())).optional(),
})

const answerSchema = z.object({
  timed_out: z.literal(false),
  _shards: z.object({ failed: z.literal(0) }),
  hits: z.object({
    total: z.object({ value: z.int(), relation: z.literal('eq') }).optional(),
    hits: z.array(hitSchema),
  }),
  aggregations: z.unknown().optional(),
  pit_id: z.string().optional(),
})

export interface SearchAnswer {
  readonly hits: readonly z.output<typeof hitSchema>[]
  /** In the order of the hits, byte for byte as stored; none for a tombstone. */
  readonly summaries: readonly Buffer[]
  /** Undefined if it was not requested. */
  readonly total: number | undefined
  readonly aggregations: unknown
  readonly pit_id: string | undefined
}

/** The query in `body` must select the team. Rejects with `AnswerTooLong` above `maxBytes`. */
export async function searchTeam(
  list: SearchedList,
  body: SearchBody,
  signal: AbortSignal,
  maxBytes?: number,
): Promise<SearchAnswer> {
  const querystring = { allow_partial_search_results: false }
  const request = { api: '_search', querystring, body, ...(maxBytes !== undefined && { maxBytes }) }
  return readAnswer(await requestShard(list, list.type, request, signal))
}

/** Cuts out the summaries, and parses the rest. Throws `ElasticsearchUnavailable` unless every shard succeeded. */
export function readAnswer(bytes: Buffer): SearchAnswer {
  const summaries: Buffer[] = []
  const rest: Buffer[] = []
  let restStart = 0
  let open = bytes.indexOf(delimiter)
  while (open !== -1) {
    const close = bytes.indexOf(delimiter, open + 1)
    if (close === -1) throw new ElasticsearchUnavailable('partial', 'a summary has no end')
    summaries.push(bytes.subarray(open + 1, close))
    rest.push(bytes.subarray(restStart, open), placeholder)
    restStart = close + 1
    open = bytes.indexOf(delimiter, restStart)
  }
  rest.push(bytes.subarray(restStart))
  const { hits, aggregations, pit_id } = parseWith(answerSchema, parse(Buffer.concat(rest).toString()))
  return { hits: hits.hits, summaries, total: hits.total?.value, aggregations, pit_id }
}

/** Throws `ElasticsearchUnavailable` unless each hit has a summary. */
export const rowsIn = ({ hits, summaries }: SearchAnswer): readonly Buffer[] => expectCount(hits.length, summaries)

/** Throws `ElasticsearchUnavailable` unless there are `count` items. */
export function expectCount<Item>(count: number, items: readonly Item[]): readonly Item[] {
  if (items.length === count) return items
  throw new ElasticsearchUnavailable('partial', `${items.length} were found of ${count}`)
}

export function totalOf({ total }: Pick<SearchAnswer, 'total'>): number {
  if (total !== undefined) return total
  throw new ElasticsearchUnavailable('partial', 'there is no total')
}

export const aggregationsIn = <T>(schema: z.ZodType<T>, { aggregations }: SearchAnswer): T =>
  parseWith(schema, aggregations)

/** `position`: the sort key (`clauses.ts`), no log position. `bytes`: an upper bound for a large row; undefined for others. */
export type RowKey = { readonly position: string; readonly id: EntityId; readonly bytes: number | undefined }

/** Of a search with `newestFirst` or `oldestFirst`, and `keysOnly(entityPart)`. */
export const keysIn = ({ hits }: SearchAnswer, entityPart: EntityPart): readonly RowKey[] =>
  hits.map(({ sort, fields }) => {
    // The first sort value is the team.
    const position = sort?.[1]
    if (typeof position !== 'string') throw new ElasticsearchUnavailable('partial', 'a hit has no position')
    const size = fields?.[sizeField(entityPart)]?.[0]
    return { position, id: idInPosition(position), bytes: size === undefined ? undefined : Number(size) }
  })

/** Throws `ElasticsearchUnavailable` if the value has another shape. */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown): T {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  const issue = checked.error.issues[0]
  throw new ElasticsearchUnavailable('partial', `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`)
}

/** Undefined if the text is no JSON. */
export const parse = (text: string): unknown => attempt(() => JSON.parse(text))
