import { hash } from 'node:crypto'
import type { ListIndices } from '../core/elasticsearch/indices.ts'
import type { EntityType, TeamId } from '../core/model/ids.ts'
import { namesEtag } from '../core/pages/staticFile.ts'
import type { ListVersion } from '../core/redis/listVersions.ts'
import type { RouteContext } from './context.ts'

type Parameters = Readonly<Record<string, unknown>>

/**
 * What an answer promises of its freshness. Validators are read before the search: the answer has every change that was visible then, and may have later
 * changes.
 */
export interface Validators {
  /** Of the list: a text that an indexer replaces after each visible change. Null while unknown. */
  readonly version: ListVersion | null
  /** Undefined while the version of a list on which the answer depends is unknown. */
  readonly etag: string | undefined
  /** Everything that was appended to Kafka before this time is in the answer. Null while no time can be promised. */
  readonly watermark: string | null
  /** The indices to which `version` and `watermark` apply. Undefined: the read aliases are searched. */
  readonly indices: ListIndices | undefined
}

/** `type`: the list that is read. `otherTypes`: further lists on which the answer depends. `parameters`: all that selects it, besides team and path. */
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

/** Whether the client already has the answer: `If-None-Match` names this ETag, or is `*`. */
export const clientHasAnswer = (ctx: RouteContext, etag: string | undefined): boolean =>
  etag !== undefined && namesEtag(ctx.get('If-None-Match'), etag)

/** Whether `If-None-Match` is `*`, which matches only an entity that exists: the entity must be read before a 304. */
export const matchesAny = (ctx: RouteContext): boolean => ctx.get('If-None-Match').trim() === '*'
