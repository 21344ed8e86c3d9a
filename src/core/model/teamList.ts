import type { TeamId } from './ids.ts'

/** The entities of which a team has lists. */
export const entityTypes = ['forms', 'submissions'] as const
export type EntityType = (typeof entityTypes)[number]

/** A list of a team. */
export type List = { readonly type: EntityType; readonly teamId: TeamId }

/** The name of a list: `<entity type>/<team>`. */
export type TeamList = `${EntityType}/${TeamId}`

export const teamList = (type: EntityType, teamId: TeamId): TeamList => `${type}/${teamId}`
