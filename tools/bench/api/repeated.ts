import { type Asker, type Comparison, sideBySide } from '../comparison.ts'
import { apiRequest, ask } from '../http.ts'
import type { HttpRequest } from '../load.ts'
import type { Goal } from '../report.ts'
import type { Stage } from '../stage.ts'
import { startBareServer } from './bareProcesses.ts'
import { crowded } from './comparisons.ts'
import { type Lists, listRequest, unchangedRequest } from './lists.ts'

/** What is asked again and again; whole answers have to reach the share `goal` of their own 304, a second. */
type Question = { readonly name: string; readonly request: HttpRequest; readonly goal: number }

/** What an API answers that keeps answers, beside its own 304 and beside a bare server with the same headers and bytes. */
export async function compareRepeated(lists: Lists, smallTeamKey: string, stage: Stage): Promise<Comparison> {
  const origin = lists.cachingOrigin
  const questions = await questionsOf(lists, smallTeamKey, stage)
  const unchanged = await Promise.all(questions.map(({ request }) => unchangedRequest(origin, request, stage)))
  const bareOrigin = await startBareServer(
    stage,
    origin,
    questions.map(({ request }) => request),
  )
  const askers = questions.flatMap(({ name, request, goal }, place): Asker[] => {
    const [whole, not] = [() => [request], () => unchanged.slice(place, place + 1)]
    const to = (label: string, goal?: Goal) => ({ label, of: `${label}, ${name}`, ...(goal && { goal }) })
    return [
      { label: `node:http, ${name}`, origin: bareOrigin, requestsOf: whole },
      { label: `304, ${name}`, origin, requestsOf: not, to: to('node:http', { atLeast: 0.55 }) },
      { label: `API, ${name}`, origin, requestsOf: whole, to: to('304', { atLeast: goal }) },
    ]
  })
  return sideBySide('API beside its 304 and bare node:http, again and again the same', crowded, askers, stage.signal)
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
