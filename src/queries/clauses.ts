import type { estypes } from '@elastic/elasticsearch'

export type Clause = estypes.QueryDslQueryContainer

/** As the indices are sorted: created last first, then the id. */
export const newestFirst = [{ teamId: 'asc' }, { position: 'desc' }] as const
