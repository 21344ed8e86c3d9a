import type { Pipeline } from './pipeline.ts'
import type { Program } from './programs.ts'
import { fold, type History, type HistoryRecord, type Json } from './randomHistory.ts'
import { newestFirst, servedForm, servedFormSummary, servedSubmission, servedSubmissionSummary } from './served.ts'

const pageSize = 17
const detailsAtOnce = 8

/**
 * Every list page of every team, and the detail of every entity it ever had, is what a fold of the history's records says:
 * nothing else is listed, and what was deleted is a 404.
 */
export async function expectFold(pipeline: Pipeline, api: Program, history: History): Promise<void> {
  const forms = fold(history.records, 'forms')
  const submissions = fold(history.records, 'submissions')
  for (const team of history.teams) {
    const of = (entities: Map<string, Json>): Json[] =>
      newestFirst([...entities].filter(([key]) => key.startsWith(`${team}/`)).map(([, entity]) => entity))
    expect(await walk(pipeline, api, team, '/api/v1/forms?')).toEqual(of(forms).map(servedFormSummary))
    expect(await walk(pipeline, api, team, '/api/v1/records?')).toEqual(of(submissions).map(servedSubmissionSummary))
    const completed = of(submissions).filter(({ result }) => result.status === 'completed')
    expect(await walk(pipeline, api, team, '/api/v1/records?status=completed&')).toEqual(
      completed.map(servedSubmissionSummary),
    )
    const idsIn = (topic: HistoryRecord['topic']): string[] =>
      history.records.filter((record) => record.topic === topic).flatMap(({ key }) => ownIdOf(team, key) ?? [])
    await expectDetails(pipeline, api, team, '/api/v1/forms', idsIn('forms'), forms, servedForm)
    await expectDetails(pipeline, api, team, '/api/v1/records', idsIn('submissions'), submissions, servedSubmission)
  }
}

/** Every id that any team ever used, in either list, is a 404 to each team that has no such entity. */
export async function expectNothingOfOthers(pipeline: Pipeline, api: Program, history: History): Promise<void> {
  const ids = history.records.map(({ key }) => key.toString()).map((key) => key.slice(key.indexOf('/') + 1))
  for (const team of history.teams)
    for (const [path, topic] of [
      ['/api/v1/forms', 'forms'],
      ['/api/v1/records', 'submissions'],
    ] as const) {
      const entities = fold(history.records, topic)
      const foreign = ids.filter((id) => !entities.has(`${team}/${id}`))
      await expectDetails(pipeline, api, team, path, foreign, entities, (entity) => entity)
    }
}

const ownIdOf = (team: string, key: Buffer): string | undefined => {
  const text = key.toString()
  return text.startsWith(`${team}/`) ? text.slice(team.length + 1) : undefined
}

/** The team's own entity as it is; the same 404 where it has none. */
async function expectDetails(
  pipeline: Pipeline,
  api: Program,
  team: string,
  path: string,
  ids: readonly string[],
  entities: Map<string, Json>,
  served: (entity: Json) => Json,
): Promise<void> {
  const expectDetail = async (id: string): Promise<void> => {
    const { status, body } = await pipeline.get(api, team, `${path}/${encodeURIComponent(id)}`)
    const expected = entities.get(`${team}/${id}`)
    if (expected === undefined)
      expect({ id, status, code: (body as Json).error?.code }).toEqual({ id, status: 404, code: 'not_found' })
    else expect({ status, body }).toEqual({ status: 200, body: served(expected) })
  }
  const asked = [...new Set(ids)].filter((id) => id !== '')
  for (let at = 0; at < asked.length; at += detailsAtOnce)
    await Promise.all(asked.slice(at, at + detailsAtOnce).map(expectDetail))
}

/** All items of a list, page by page; every page must tell the same total. */
async function walk(pipeline: Pipeline, api: Program, team: string, path: string): Promise<Json[]> {
  const items: Json[] = []
  for (let page = 1; ; page++) {
    const { status, body } = await pipeline.get(api, team, `${path}limit=${pageSize}&page=${page}`)
    const envelope: Json = body
    expect({ status, page: envelope.page, limit: envelope.limit }).toEqual({ status: 200, page, limit: pageSize })
    items.push(...envelope.items)
    if (items.length >= envelope.totalDocs || envelope.items.length === 0) {
      expect(items).toHaveLength(envelope.totalDocs)
      return items
    }
  }
}
