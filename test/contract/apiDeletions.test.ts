import { toInstant } from '../../src/core/model/instant.ts'
import { type TestAnswer, linesOf as textLinesOf, useApi } from '../support/api.ts'
import { submissionEntity } from '../support/entities.ts'
import { queryData } from '../support/queryData.ts'
import { expectedExport } from '../support/queryOracle.ts'
import { seeded } from '../support/random.ts'
import { randomWindow } from '../support/randomQueries.ts'

const seed = Number(process.env['ORACLE_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const exports = Number(process.env['ORACLE_QUERIES'] ?? 60)
const ndjson = 'application/x-ndjson'
const [team, longTeam] = ['acme', 'long']
const watermark = toInstant(Date.parse('2026-11-23T08:00:00.000Z'))
/** More than three parts of an export hold. */
const many = 4_321
const afterAllMs = Date.parse('2026-11-22T00:00:00.000Z')

const history = queryData(seed)
const api = useApi({
  teams: [...history.teams, longTeam],
  fill: async (replica) => {
    await history.storeIn(replica)
    const appendedAt = toInstant(afterAllMs)
    const deleted = Array.from({ length: many }, (_, at) => ({
      team: longTeam,
      id: `d${at}`,
      entity: null,
      appendedAt,
    }))
    await replica.storeSubmissions(...deleted)
  },
  watermark,
  hasFaultyElasticsearch: true,
})

const ask = (path: string, headers: Readonly<Record<string, string>> = {}, as = team): Promise<TestAnswer> =>
  api.send(path, { key: api.keyOf(as), headers: { accept: ndjson, ...headers } })
type Line = { readonly id: string; readonly deleted?: true }
const linesOf = (answer: TestAnswer): Line[] => textLinesOf(answer).map((line) => JSON.parse(line) as Line)
const deletedIn = (answer: TestAnswer): string[] =>
  linesOf(answer)
    .filter(({ deleted }) => deleted)
    .map(({ id }) => id)
    .sort()

test('an export holds what changed in its window, then what was deleted in it, and nothing else', async () => {
  const random = seeded(seed)
  expect(history.deleted.filter((each) => each.team === team).length).toBeGreaterThan(10)
  for (let number = 0; number < exports; number++) {
    const query = randomWindow(random, history)
    const expected = expectedExport(history, query)
    const lines = linesOf(await ask(query.target, {}, query.team))
    const items = lines.slice(0, expected.items.length)
    const deletions = lines.slice(expected.items.length).sort((a, b) => (a.id < b.id ? -1 : 1))
    const repeat = `ORACLE_SEED=${seed} ORACLE_QUERIES=${number + 1}`
    expect({ repeat, query, items, deletions }).toEqual({ repeat, query, ...expected })
  }
})

test('more deletions than one part holds are all listed, once each, also of what the team never had', async () => {
  const answer = await ask('/api/v1/records?changedSince=2026-11-22&includeDeleted=true', {}, longTeam)
  expect(answer.headers['replica-watermark']).toBe(watermark)
  expect(linesOf(answer)).toHaveLength(many)
  expect(new Set(deletedIn(answer)).size).toBe(many)
})

test('an entity that is deleted during an export is an item of it, and a deletion in the next one', async () => {
  const held = api.hold()
  const since = `/api/v1/records?changedSince=${toInstant(0)}&includeDeleted=true`
  const id = 'written-before'
  const appendedAt = toInstant(afterAllMs)
  const entity = submissionEntity({ id, submittedAt: '1000-01-01T00:00:00.000Z' })
  await api.replica.storeSubmissions({ team, id, entity, appendedAt })
  const exporting = ask(since)
  await held.untilReached()
  await api.replica.storeSubmissions({ team, id, entity: null, appendedAt: watermark })
  held.goOn()
  const lines = linesOf(await exporting)
  expect(lines.filter((line) => line.id === id)).toEqual([expect.not.objectContaining({ deleted: true })])
  const next = linesOf(await ask(`/api/v1/records?changedSince=${watermark}&includeDeleted=true`))
  expect(next).toEqual([{ id, deleted: true }])
})

test('an export whose deletions do not arrive is broken off', async () => {
  api.elasticsearch.inject('/_search', ({ response }) => response.destroy(), {
    when: ({ body }) => body.includes('tombstone.teamId') && body.includes('search_after'),
  })
  await expect(ask('/api/v1/records?changedSince=2026-11-20&includeDeleted=true', {}, longTeam)).rejects.toThrow()
})
