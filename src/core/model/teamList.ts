import type { TeamId } from './ids.ts'

/** The entities of which a team has lists. */
export const entityTypes = ['forms', 'submissions'] as const
export type EntityType = (typeof entityTypes)[number]

/** A team's list, as `<entity type>/<team>`. */
export type TeamList = `${EntityType}/${TeamId}`

export const teamList = (type: EntityType, teamId: TeamId): TeamList => `${type}/${teamId}`
