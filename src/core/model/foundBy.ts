import { rawMembers } from '../json/rawJson.ts'
import { answerTerms } from './answers.ts'
import { partsOfScore } from './score.ts'

/** The JSON by which a submission is found besides its summary. */
export type FoundBy = { readonly data: Buffer; readonly score: string }

/** The members of a submission's list document by which it is found and counted besides its summary. `hasAnswers`: answers are indexed. */
export const foundByMembers = ({ data, score }: FoundBy, hasAnswers: boolean): string =>
  `${hasAnswers ? `"answers":${answerTerms(data.toString())},` : ''}"scoreParts":${partsOfScore(Number(score))}`

/** By what a submission is found, from the JSON of its summary. */
export function summaryFoundBy(summary: string): FoundBy {
  const members = rawMembers(summary)
  const score = rawMembers(members.get('result') ?? 'null').get('score')
  return { data: Buffer.from(members.get('data') ?? 'null'), score: score ?? 'null' }
}
