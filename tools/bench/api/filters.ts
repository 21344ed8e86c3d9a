import { z } from 'zod'
import { type Comparison, sideBySide } from '../comparison.ts'
import { ask } from '../http.ts'
import type { Pace } from '../load.ts'
import type { Goal } from '../report.ts'
import type { Stage } from '../stage.ts'
import { type Lists, listRequest, newListRequest } from './lists.ts'

const pace: Pace = { connections: 1, leadIn: 5, maxRequests: 100, maxMs: 3_000 }
const limit = 20

/** The fields of one submission by which filters find it. */
export type Answered = z.output<typeof rowSchema>

type Answer = [code: string, value: string]

const text = z.string().min(1)
const rowSchema = z
  .object({
    examinee: z.object({ email: text }),
    metadata: z.object({ utmCampaign: text }),
    result: z.object({ level: text, score: z.number() }),
    data: z.record(z.string(), z.unknown()),
  })
  .transform(({ data, ...row }, context) => {
    const answers = Object.entries(data).filter((answer): answer is Answer => text.safeParse(answer[1]).success)
    const [answer, other] = answers
    if (answer !== undefined && other !== undefined) return { ...row, answer, other }
    context.addIssue('it has fewer than two answers that are texts')
    return z.NEVER
  })

/** A submission among the newest that has a value for every filter. */
export async function findAnswered(lists: Lists, stage: Stage): Promise<Answered> {
  const { json } = await ask(lists.apiOrigin, listRequest(lists, 100), stage)
  for (const item of (json as { items: unknown[] }).items) {
    const { data } = rowSchema.safeParse(item)
    if (data !== undefined) return data
  }
  throw new Error('none of the newest submissions has something for every filter')
}

/** Beside the first page of the whole list. Each request has another `until`, so that no cache has its answer. */
export function compareFilters(lists: Lists, answered: Answered, stage: Stage): Comparison {
  const { examinee, metadata, result, answer, other } = answered
  const [own, ofAnswers] = [{ atMost: 1.5 }, { atMost: 2 }]
  const answering = (...answers: Answer[]) =>
    Object.fromEntries(answers.map(([code, value]): [string, string] => [`answer.${code}`, value]))
  const filters: [label: string, filters: Readonly<Record<string, string>>, goal?: Goal][] = [
    ['all', {}],
    ['`level`', { level: result.level }, own],
    ['`email`', { email: examinee.email }, own],
    ['`utmCampaign`', { utmCampaign: metadata.utmCampaign }, own],
    ['`minScore`', { minScore: String(result.score) }, own],
    ['one answer', answering(answer), ofAnswers],
    ['answers to two fields', answering(answer, other), ofAnswers],
  ]
  const askers = filters.map(([label, filter, goal]) => ({
    label,
    origin: lists.apiOrigin,
    requestsOf: () => [() => newListRequest(lists, limit, filter)],
    ...(goal && { to: { label: 'all', of: 'all', goal } }),
  }))
  return sideBySide('Pages of 20 by filters and answers, ANSWER_CACHE_BYTES=0', pace, askers, stage)
}
