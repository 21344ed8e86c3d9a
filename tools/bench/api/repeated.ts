import { asking, type Comparison } from '../comparison.ts'
import { apiRequest, ask } from '../http.ts'
import type { HttpRequest } from '../load.ts'
import type { Row } from '../report.ts'
import type { Stage } from '../stage.ts'
import { startBareServer } from './bareProcesses.ts'
import { crowded } from './comparisons.ts'
import { type Lists, listRequest, unchangedRequest } from './lists.ts'

/** What is asked again and again; whole answers have to reach the share `goal` of their own 304, a second. */
type Question = { readonly name: string; readonly request: HttpRequest; readonly goal: number }

/** What 304 has to reach of what a server answers that does nothing else. */
const unchangedGoal = { atLeast: 0.55 }

/** What an API answers that keeps answers, beside its own 304 and beside a bare server with the same headers and bytes. */
export async function compareRepeated(lists: Lists, smallTeamKey: string, stage: Stage): Promise<Comparison> {
  const { cachingOrigin } = lists
  const questions = await questionsOf(lists, smallTeamKey, stage)
  const unchanged = await Promise.all(questions.map(({ request }) => unchangedRequest(cachingOrigin, request, stage)))
  const whole = questions.map(({ request }) => request)
  const bareOrigin = await startBareServer(stage, cachingOrigin, [...whole, ...unchanged])
  const nameOf = (who: string, { name }: Question): string => `${who}, ${name}, again and again`
  const answers = (who: string, origin: string, requests: readonly HttpRequest[]): Comparison['contenders'] =>
    questions.map((question, place) =>
      asking(nameOf(who, question), origin, crowded, stage.signal, () => requests.slice(place, place + 1)),
    )
  const rowOf = (who: string, question: Question, to?: string, goal?: { atLeast: number }): Row => ({
    label: `${who}, ${question.name}`,
    of: nameOf(who, question),
    ...(to !== undefined && { to: { label: to, of: nameOf(to, question), ...(goal && { goal }) } }),
  })
  const section = (title: string, rowsOf: (question: Question) => readonly Row[]): Comparison['sections'][number] => ({
    title: `API, the same question again and again: ${title}, ${crowded.connections} at once`,
    measure: 'answers a second',
    rows: questions.flatMap(rowsOf),
  })
  return {
    contenders: [
      ...answers('API', cachingOrigin, whole),
      ...answers('304', cachingOrigin, unchanged),
      ...answers('node:http', bareOrigin, whole),
      ...answers('node:http 304', bareOrigin, unchanged),
    ],
    sections: [
      section('whole answers beside 304', (question) => [
        rowOf('304', question),
        rowOf('API', question, '304', { atLeast: question.goal }),
      ]),
      section('beside bare node:http with the same headers and bytes', (question) => [
        rowOf('node:http', question),
        rowOf('API', question, 'node:http'),
        rowOf('node:http 304', question),
        rowOf('304', question, 'node:http 304', unchangedGoal),
      ]),
    ],
  }
}

/** A page of a small team and one of the large team, each as it is and compressed, and one submission. */
async function questionsOf(lists: Lists, smallTeamKey: string, stage: Stage): Promise<Question[]> {
  const ofSmall = { accountKey: smallTeamKey }
  const { json } = await ask(lists.apiOrigin, listRequest(ofSmall, 1), stage)
  const [submission] = (json as { items: { id: string }[] }).items
  const pages = [
    { name: 'small team, limit=20', request: listRequest(ofSmall, 20) },
    { name: 'large team, limit=100', request: listRequest(lists, 100) },
  ]
  return [
    ...pages.map((page) => ({ ...page, goal: 0.8 })),
    ...pages.map(({ name, request }) => ({ name: `${name}, gzip`, request: compressed(request), goal: 0.7 })),
    { name: 'one submission', request: apiRequest(smallTeamKey, `records/${submission?.id}`, {}), goal: 0.9 },
  ]
}

const compressed = (request: HttpRequest): HttpRequest => ({
  ...request,
  headers: { ...request.headers, 'accept-encoding': 'gzip' },
})
