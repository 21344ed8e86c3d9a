import type { TeamId } from './ids.ts'

/** What a team has a list of. */
export const entityTypes = ['forms', 'submissions'] as const
export type EntityType = (typeof entityTypes)[number]

/** A team's list, as `<entity type>/<team>`. */
export type TeamList = `${EntityType}/${TeamId}`

export const teamList = (type: EntityType, teamId: TeamId): TeamList => `${type}/${teamId}`
