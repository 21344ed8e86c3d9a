import { hash } from 'node:crypto'
import type { ListIndices } from '../core/elasticsearch/indices.ts'
import type { EntityType, TeamId } from '../core/model/ids.ts'
import { namesEtag } from '../core/pages/staticFile.ts'
import type { ListVersion } from '../core/redis/listVersions.ts'
import type { RouteContext } from './context.ts'

type Parameters = Readonly<Record<string, unknown>>

/** Read before the search: the answer has every change that was visible then, and may have later ones. */
export interface Validators {
  /** Of the list. Null while unknown. */
  readonly version: ListVersion | null
  /** Undefined while a version on which the answer depends is unknown. */
  readonly etag: string | undefined
  /** Null while no time can be promised. */
  readonly watermark: string | null
  /** To which `version` and `watermark` apply. Undefined: the read aliases are searched. */
  readonly indices: ListIndices | undefined
}

/** `otherTypes`: further lists on which the answer depends. `parameters`: all that selects it, besides team and path. */
export function validatorsOf(
  ctx: RouteContext,
  type: EntityType,
  parameters: Parameters,
  ...otherTypes: EntityType[]
): Validators {
  const { watermark, versions, indices } = ctx.state.freshness
  const version = versions[type]
  const allVersions = [version, ...otherTypes.map((other) => versions[other])]
  const etag = allVersions.includes(null)
    ? undefined
    : etagOf(ctx.state.accountKey.teamId, allVersions, ctx.path, parameters)
  return { version, etag, watermark, indices: indices[type] }
}

/** To be raised when a release renders the same data differently; otherwise clients get 304 for the former rendering. */
const renderingVersion = 1
const etagCharacters = 22 // 132 bits

/** Weak, because the same answer may be sent compressed or not. */
function etagOf(
  teamId: TeamId,
  versions: readonly (ListVersion | null)[],
  path: string,
  parameters: Parameters,
): string {
  const presentEntries = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const sortedEntries = presentEntries.sort(([a], [b]) => (a < b ? -1 : 1))
  const text = JSON.stringify([renderingVersion, teamId, versions, path, sortedEntries])
  return `W/"${hash('sha256', text, 'base64url').slice(0, etagCharacters)}"`
}

export const clientHasAnswer = (ctx: RouteContext, etag: string | undefined): boolean =>
  etag !== undefined && namesEtag(ctx.get('If-None-Match'), etag)

/** `If-None-Match: *` matches only an entity that exists: it must be read before a 304. */
export const matchesAny = (ctx: RouteContext): boolean => ctx.get('If-None-Match').trim() === '*'
