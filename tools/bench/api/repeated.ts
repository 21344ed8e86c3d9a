import { type Asker, type Comparison, sideBySide, together } from '../comparison.ts'
import { apiRequest, ask } from '../http.ts'
import type { HttpRequest } from '../load.ts'
import type { Goal, Section } from '../report.ts'
import type { Stage } from '../stage.ts'
import { startBare } from './bareProcesses.ts'
import { crowded } from './comparisons.ts'
import { type Lists, listRequest, unchangedRequest } from './lists.ts'

/** `goal`: the least rate of whole answers, as a share of the rate of their 304. */
type Question = { readonly name: string; readonly request: HttpRequest; readonly goal: number }

/** Answers of an API with an answer cache, beside their 304 and beside a bare server with the same headers and bytes. */
export async function compareRepeated(lists: Lists, smallTeamKey: string, stage: Stage): Promise<Comparison> {
  const origin = lists.cachingOrigin
  const questions = await questionsOf(lists, smallTeamKey, stage)
  const unchanged = await Promise.all(questions.map(({ request }) => unchangedRequest(origin, request, stage)))
  const requests = [...questions.map(({ request }) => request), ...unchanged]
  const bareOrigin = await startBare(stage, 'bareServer', [origin], requests)
  const askers = questions.flatMap(({ name, request, goal }, place): Asker[] => {
    const [whole, not] = [() => [request], () => unchanged.slice(place, place + 1)]
    const to = (label: string, least?: Goal) => ({ label, of: `${label}, ${name}`, ...(least && { goal: least }) })
    return [
      { label: `node:http, 304, ${name}`, origin: bareOrigin, requestsOf: not },
      { label: `304, ${name}`, origin, requestsOf: not, to: to('node:http, 304') },
      { label: `node:http, ${name}`, origin: bareOrigin, requestsOf: whole },
      { label: `API, ${name}`, origin, requestsOf: whole, to: to('304', { atLeast: goal }) },
    ]
  })
  const bySecond = sideBySide('API beside its 304 and bare node:http, again and again the same', crowded, askers, stage)
  return together([bySecond, { contenders: [], sections: bySecond.sections.map(besideBareByCpu) }])
}

/** By CPU time for each answer, beside the bare server with the same bytes, in the row before. */
const besideBareByCpu = ({ title, rows }: Section): Section => ({
  title: `${title}: CPU time`,
  measure: 'server CPU',
  rows: rows.map(({ label, of }, at) => {
    const bare = rows[at - 1]
    const isBare = bare === undefined || label.startsWith('node:http')
    return isBare ? { label, of } : { label, of, to: { label: 'node:http', of: bare.of, goal: { atMost: 1.6 } } }
  }),
})

/** A page of a small team and a page of the large team, each uncompressed and compressed, and one submission. */
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
