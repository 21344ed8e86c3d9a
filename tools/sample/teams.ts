import { chinese } from './languages/chinese.ts'
import { english } from './languages/english.ts'
import type { Language } from './languages/language.ts'

export type Team = {
  readonly id: string
  readonly name: string
  readonly sharePercent: number
  readonly editions: number
  /** The languages of its forms, each with the keys of the subjects. */
  readonly catalogue: readonly { readonly language: Language; readonly subjects: readonly string[] }[]
}

/** The largest first. */
export const teams: readonly Team[] = [
  {
    id: 'team_harborlight',
    name: 'Harborlight Academy',
    sharePercent: 70,
    editions: 3,
    catalogue: [
      { language: english, subjects: ['data-protection', 'team-leadership', 'career-path'] },
      { language: chinese, subjects: ['information-security-cn', 'career-personality-cn'] },
    ],
  },
  {
    id: 'team_brightwater',
    name: 'Brightwater Consulting',
    sharePercent: 25,
    editions: 3,
    catalogue: [{ language: english, subjects: ['team-leadership', 'data-protection'] }],
  },
  {
    id: 'team_hanabi',
    name: 'Hanabi Studio',
    sharePercent: 5,
    editions: 2,
    catalogue: [
      { language: chinese, subjects: ['information-security-cn'] },
      { language: english, subjects: ['career-path'] },
    ],
  },
]
