import type { estypes } from '@elastic/elasticsearch'
import type { EntityPart } from '../../core/elasticsearch/documentFormat.ts'
import type { TeamId } from '../../core/model/ids.ts'
import { clampToInstants, toInstant, type WindowBound } from '../../core/model/instant.ts'

export type Clause = estypes.QueryDslQueryContainer

export type Filter = readonly Clause[]

/** In order of preference: a filter is used only if all filters before it match nothing. */
export type Filters = readonly [Filter, ...Filter[]]

/** The field `position` is a list's sort key: creation time, then id; not a position in Kafka. */
export const newestFirst = [{ teamId: 'asc' }, { position: 'desc' }] as const
export const oldestFirst = [{ teamId: 'asc' }, { position: 'asc' }] as const

/** Every search of a team uses this query, `largeRowsOf`, or the query of `searchChanges.ts`. */
export const ofTeam = (teamId: TeamId, filter: Filter): Clause => ({
  bool: { filter: [{ term: { teamId } }, ...filter] },
})

/** The team's rows whose `part` is larger than `largeBytes`: only these have its size (`sizeField`). */
export const largeRowsOf = (teamId: TeamId, part: EntityPart): Clause => ({
  bool: { filter: [{ term: { [`large.${part}Of`]: teamId } }] },
})

export const sizeField = (part: EntityPart): string => `large.${part}Bytes`

export const countOnly = { size: 0, track_total_hits: true }

export const countAtMostOne = { ...countOnly, terminate_after: 1 }

/** Returns sort values and the size of `part`; reads no stored documents. */
export const keysOnly = (part: EntityPart) => ({
  _source: false,
  stored_fields: '_none_',
  docvalue_fields: [{ field: sizeField(part) }],
})

/** `beyond-all`: the window begins after, or ends before, every `Instant`, so nothing matches. */
export const windowClauses = (field: string, since?: WindowBound, until?: WindowBound): Clause[] =>
  since === 'beyond-all' || until === 'beyond-all' ? [{ match_none: {} }] : rangeClauses(field, since, until)

/** Epoch ms, both ends inclusive. */
export type TimeSpan = { readonly fromMs: number; readonly toMs: number }

export const createdWithin = ({ fromMs, toMs }: TimeSpan): Clause => ({
  range: { createdAt: { gte: toInstant(clampToInstants(fromMs)), lte: toInstant(clampToInstants(toMs)) } },
})

export const termClauses = (field: string, value: string | undefined): Clause[] =>
  value === undefined ? [] : [{ term: { [field]: value } }]

export const scoreField = 'summary.result.score'

/**
 * A lower bound of 0 becomes -0, which Elasticsearch sorts below 0: else scores of -0 would be missed. The bound is a string, because
 * `JSON.stringify(-0)` is `0`.
 */
export const scoreClauses = (min?: number, max?: number): Clause[] =>
  rangeClauses(scoreField, min === 0 ? '-0.0' : min, max)

const rangeClauses = (field: string, gte?: string | number, lte?: string | number): Clause[] =>
  gte === undefined && lte === undefined ? [] : [{ range: { [field]: { gte, lte } as object } }]
