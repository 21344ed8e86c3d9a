import { rawMembers } from '../json/rawJson.ts'
import { answerTerms } from './answers.ts'
import { partsOfScore } from './score.ts'

/** The members of a submission's list document by which it is found and counted besides its summary, from the JSON of `data` and of the score. */
export const foundBy = (data: string, score: string): string =>
  `"answers":${answerTerms(data)},"scoreParts":${partsOfScore(Number(score))}`

/** The same from the JSON of the summary. */
export function summaryFoundBy(summary: string): string {
  const members = rawMembers(summary)
  const score = rawMembers(members.get('result') ?? 'null').get('score')
  return foundBy(members.get('data') ?? 'null', score ?? 'null')
}
