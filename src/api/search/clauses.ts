import type { estypes } from '@elastic/elasticsearch'
import type { EntityPart } from '../../core/elasticsearch/documentFormat.ts'
import type { TeamId } from '../../core/model/ids.ts'
import { clampToInstants, toInstant, type WindowBound } from '../../core/model/instant.ts'

export type Clause = estypes.QueryDslQueryContainer

export type Filter = readonly Clause[]

/** A filter is used only if all before it match nothing. */
export type Filters = readonly [Filter, ...Filter[]]

/** The field `position` is a row's sort key (creation time, then id), no position in Kafka. */
export const newestFirst = [{ teamId: 'asc' }, { position: 'desc' }] as const
export const oldestFirst = [{ teamId: 'asc' }, { position: 'asc' }] as const

/** An index has the rows of all teams: every search contains this clause, `largeRowsOf`, or the clause of `searchChanges.ts`. */
export const ofTeam = (teamId: TeamId, filter: Filter): Clause => ({
  bool: { filter: [{ term: { teamId } }, ...filter] },
})

/** Rows whose summary or detail is larger than `largeBytes`. */
export const largeRowsOf = (teamId: TeamId, entityPart: EntityPart): Clause => ({
  bool: { filter: [{ term: { [`large.${entityPart}Of`]: teamId } }] },
})

/** In bytes. Only the rows of `largeRowsOf` have it. */
export const sizeField = (entityPart: EntityPart): string => `large.${entityPart}Bytes`

export const countOnly = { size: 0, track_total_hits: true }

/** The total is 0 or 1. */
export const countAtMostOne = { ...countOnly, terminate_after: 1 }

/** Requests sort keys, and sizes of large summaries or details, without reading stored documents. */
export const keysOnly = (entityPart: EntityPart) => ({
  _source: false,
  stored_fields: '_none_',
  docvalue_fields: [{ field: sizeField(entityPart) }],
})

/** Nothing matches if the window begins after, or ends before, every valid instant (`beyond-all`). */
export const windowClauses = (field: string, since?: WindowBound, until?: WindowBound): Clause[] =>
  since === 'beyond-all' || until === 'beyond-all' ? [{ match_none: {} }] : rangeClauses(field, since, until)

/** Epoch ms, both ends inclusive. */
export type TimeSpan = { readonly fromMs: number; readonly toMs: number }

/** A histogram's first bucket may begin before the first valid instant, so the ends are clamped. */
export const createdWithin = ({ fromMs, toMs }: TimeSpan): Clause => ({
  range: { createdAt: { gte: toInstant(clampToInstants(fromMs)), lte: toInstant(clampToInstants(toMs)) } },
})

export const termClauses = (field: string, value: string | undefined): Clause[] =>
  value === undefined ? [] : [{ term: { [field]: value } }]

export const scoreField = 'summary.result.score'

/** Elasticsearch sorts -0 below 0, so a lower bound of 0 becomes -0; as a string, because `JSON.stringify(-0)` is `0`. */
export const scoreClauses = (min?: number, max?: number): Clause[] =>
  rangeClauses(scoreField, min === 0 ? '-0.0' : min, max)

const rangeClauses = (field: string, gte?: string | number, lte?: string | number): Clause[] =>
  gte === undefined && lte === undefined ? [] : [{ range: { [field]: { gte, lte } as object } }]
