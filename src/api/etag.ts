import { hash } from 'node:crypto'
import type { EntityType, TeamId } from '../core/model/ids.ts'
import { namesEtag } from '../core/pages/staticFile.ts'
import type { ListVersion } from '../core/redis/listVersions.ts'
import type { RouteContext } from './context.ts'

type Parameters = Readonly<Record<string, unknown>>

/** How fresh an answer is. All are read before the query, so the answer may hold more than they promise, never less. */
export type Validators = ReturnType<typeof validatorsOf>

/**
 * The validators of an answer made from entities of these types, and the indices of the first one of which they are true. `parameters` are all that
 * select it, apart from team and path.
 */
export function validatorsOf(ctx: RouteContext, type: EntityType, parameters: Parameters, ...otherTypes: EntityType[]) {
  const { watermark, versions, indices } = ctx.state.freshness
  const version = versions[type]
  const all = [version, ...otherTypes.map((other) => versions[other])]
  // Like a version, undefined while it is unknown.
  const etag = all.includes(null) ? undefined : etagOf(ctx.state.holder.teamId, all, ctx.path, parameters)
  return { version, etag, watermark, indices: indices[type] }
}

/** Part of every ETag. Increase it when the same data is rendered in another way. */
const renderingVersion = 1
/** 132 bits of the digest. */
const etagCharacters = 22

/** A weak ETag: the same answer may be sent compressed or not. */
function etagOf(
  teamId: TeamId,
  versions: readonly (ListVersion | null)[],
  path: string,
  parameters: Parameters,
): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const sorted = given.sort(([a], [b]) => (a < b ? -1 : 1))
  const text = JSON.stringify([renderingVersion, teamId, versions, path, sorted])
  return `W/"${hash('sha256', text, 'base64url').slice(0, etagCharacters)}"`
}

/** Whether `If-None-Match` names the current ETag. */
export const holdsVersion = (ctx: RouteContext, etag: string | undefined): boolean =>
  etag !== undefined && namesEtag(ctx.get('If-None-Match'), etag)

/** Whether `If-None-Match` is `*`, which matches only what exists. An entity must be read to know that; a list always exists. */
export const matchesAny = (ctx: RouteContext): boolean => ctx.get('If-None-Match').trim() === '*'
