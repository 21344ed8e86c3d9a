import type { Pipeline } from './pipeline.ts'
import type { Program } from './programs.ts'
import { fold, type Json, type World } from './randomWorld.ts'
import { newestFirst, servedForm, servedFormSummary, servedSubmission, servedSubmissionSummary } from './served.ts'

const pageSize = 17

/** Every list page and every detail of every team is what a fold of the world's records says, and nothing else is there. */
export async function expectFold(pipeline: Pipeline, api: Program, world: World): Promise<void> {
  const forms = fold(world.records, 'forms')
  const submissions = fold(world.records, 'submissions')
  for (const team of world.teams) {
    const of = (entities: Map<string, Json>): Json[] =>
      newestFirst([...entities].filter(([key]) => key.startsWith(`${team}/`)).map(([, entity]) => entity))
    expect(await walk(pipeline, api, team, '/api/v1/forms?')).toEqual(of(forms).map(servedFormSummary))
    expect(await walk(pipeline, api, team, '/api/v1/records?')).toEqual(of(submissions).map(servedSubmissionSummary))
    const completed = of(submissions).filter(({ result }) => result.status === 'completed')
    expect(await walk(pipeline, api, team, '/api/v1/records?status=completed&')).toEqual(
      completed.map(servedSubmissionSummary),
    )
    await expectDetails(pipeline, api, team, '/api/v1/forms', world, forms, servedForm)
    await expectDetails(pipeline, api, team, '/api/v1/records', world, submissions, servedSubmission)
  }
}

/** Every id that any team ever used: the team's own entity as it is, and for all others the same 404. */
async function expectDetails(
  pipeline: Pipeline,
  api: Program,
  team: string,
  path: string,
  world: World,
  entities: Map<string, Json>,
  served: (entity: Json) => Json,
): Promise<void> {
  const ids = new Set(
    [...entities.keys(), ...world.records.map(({ key }) => key.toString())].map((key) =>
      key.slice(key.indexOf('/') + 1),
    ),
  )
  for (const id of [...ids].filter((each) => each !== '')) {
    const { status, body } = await pipeline.get(api, team, `${path}/${encodeURIComponent(id)}`)
    const expected = entities.get(`${team}/${id}`)
    if (expected === undefined)
      expect({ id, status, code: (body as Json).error?.code }).toEqual({ id, status: 404, code: 'not_found' })
    else expect({ status, body }).toEqual({ status: 200, body: served(expected) })
  }
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
