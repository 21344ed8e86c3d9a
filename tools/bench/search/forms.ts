import { entityId, seededRandom } from '../../sample/random.ts'
import { zipf } from '../zipf.ts'
import { makeTitle, type Title } from './titles.ts'

export type SampleForm = {
  readonly teamId: string
  readonly id: string
  readonly title: Title
  /** An ISO instant, unique to the form. */
  readonly createdAt: string
}

type Size = { readonly forms: number; readonly teams: number }

export type SampleTeam = { readonly id: string; readonly forms: number }

export type SampleForms = {
  readonly size: Size
  readonly largestTeam: SampleTeam
  readonly smallTeam: SampleTeam
  /** In order of created time, the teams mixed. Made lazily, and the same at every call. */
  all(): Generator<SampleForm>
  ofTeam(id: string): Generator<SampleForm>
}

/** The largest of 5,000 teams has 4 % of all forms, half of the teams less than a hundredth of a percent each. */
const skew = 0.8
const oldestMs = Date.UTC(2023, 0, 1)
const newestMs = Date.UTC(2026, 0, 1)

export function createForms(size: Size): SampleForms {
  const teams = zipf(size.teams, skew)
    .sizes(size.forms)
    .map((forms, rank) => ({ id: `team_${rank}`, forms }))
  const largestTeam = teams[0]
  const smallTeam = teams[size.teams >> 1]
  if (largestTeam === undefined || smallTeam === undefined) throw new Error('there are no teams')
  const rankOf = mixed(teams.map(({ forms }) => forms))
  const stepMs = (newestMs - oldestMs) / size.forms

  const formAt = (index: number, rank: number): SampleForm => {
    const random = seededRandom(`form/${index}`)
    const createdMs = Math.floor(oldestMs + index * stepMs)
    const createdAt = new Date(createdMs).toISOString()
    return { teamId: `team_${rank}`, id: entityId(random, createdMs), title: makeTitle(random), createdAt }
  }
  function* matching(isWanted: (rank: number) => boolean): Generator<SampleForm> {
    for (const [index, rank] of rankOf.entries()) if (isWanted(rank)) yield formAt(index, rank)
  }
  return {
    size,
    largestTeam,
    smallTeam,
    all: () => matching(() => true),
    ofTeam: (id: string) => matching((rank) => `team_${rank}` === id),
  }
}

/** By form, the rank of its team, in random order. */
const mixed = (sizes: readonly number[]): Uint16Array =>
  Uint16Array.from(
    seededRandom('mixed').shuffled(sizes.flatMap((forms, rank) => Array.from({ length: forms }, () => rank))),
  )

export function recordOf({ teamId, id, title, createdAt }: SampleForm): {
  readonly key: string
  readonly value: string
} {
  const publicToken = id.slice(-8)
  const form = {
    id,
    title: title.text,
    scene: 'knowledge_quiz',
    language: title.locale,
    publicToken,
    shareUrl: `https://quiz.example/f/${publicToken}`,
    localization: null,
    isActive: true,
    createdAt,
    updatedAt: createdAt,
  }
  return { key: `${teamId}/${id}`, value: JSON.stringify({ revision: 1, form }) }
}
