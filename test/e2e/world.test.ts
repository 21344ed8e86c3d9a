import { eventually } from '../support/eventually.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { killPrograms, type Program } from '../support/programs.ts'
import { fold, type Json, randomWorld, type World } from '../support/randomWorld.ts'
import {
  newestFirst,
  servedForm,
  servedFormSummary,
  servedSubmission,
  servedSubmissionSummary,
} from '../support/served.ts'

const pageSize = 17

describe('A random history of five teams, late, doubled, shuffled, with deletions and poison', () => {
  let pipeline: Pipeline
  beforeEach(async () => {
    pipeline = await openPipeline()
  })
  afterEach(async () => {
    killPrograms()
    await pipeline.close()
  })

  test('every list page and every detail equals a fold of the 2,000 events, and poison is set aside as it came', async () => {
    const world = randomWorld(1, 2_000)
    await pipeline.startIndexer()
    await pipeline.createKeys(world.teams)
    await pipeline.produceWorld(world.records)
    const api = await pipeline.startApi()
    await pipeline.untilApplied(api, 'acme')
    await expectFold(pipeline, api, world)

    const poison = world.records.filter(({ isPoison }) => isPoison)
    const letters = await pipeline.deadLetters(poison.length)
    expect(bytesOf(letters)).toEqual(bytesOf(poison))
    for (const { headers } of letters)
      expect(headers).toMatchObject({
        'tidemark.path': expect.stringMatching(/\w/),
        'tidemark.reason': expect.stringMatching(/\w/),
      })
  })

  test('an indexer killed in the middle and started again comes to the same', async () => {
    const world = randomWorld(2, 2_000)
    const first = await pipeline.startIndexer()
    await pipeline.createKeys(world.teams)
    const half = Math.floor(world.records.length / 2)
    await pipeline.produceWorld(world.records.slice(0, half))
    const rest = pipeline.produceWorld(world.records.slice(half))
    await eventually(async () => (await first.metric('tidemark_records_total')) > half / 2)
    await first.end('SIGKILL')
    await rest
    await pipeline.startIndexer()
    const api = await pipeline.startApi()
    await pipeline.untilApplied(api, 'acme')
    await expectFold(pipeline, api, world)
  })
})

const bytesOf = (records: readonly { key: Buffer | null; value: Buffer | null }[]): string[] =>
  records.map(({ key, value }) => `${key?.toString('hex')} ${value?.toString('hex')}`).sort()

async function expectFold(pipeline: Pipeline, api: Program, world: World): Promise<void> {
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
