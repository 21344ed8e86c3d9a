import { type LargeRows, type LargeStage, openLargeStage } from '../abuse/largeRows.ts'
import { type OwnElasticsearch, startSmallElasticsearch } from '../support/ownEngines.ts'
import { killPrograms } from '../support/programs.ts'

const mebibyte = 1024 * 1024
/** The API's container has 512 MiB. */
const boundBytes = 512 * mebibyte
const rows = 200

let elasticsearch: OwnElasticsearch
let stage: LargeStage
let found: LargeRows
beforeAll(async () => {
  elasticsearch = await startSmallElasticsearch()
  stage = await openLargeStage({ rows, rowBytes: 900_000, processes: 2 })
  found = await stage.ask()
})
afterAll(async () => {
  await stage?.close()
  killPrograms()
  await elasticsearch?.stop()
})

describe('a team with 200 rows of 0.9 MB that asks two processes for 32 pages and four exports at once', () => {
  test('leaves a small Elasticsearch alive', async () => {
    const { status } = await fetch(`${elasticsearch.elasticsearch.url}/_cluster/health`)
    expect(status).toBe(200)
  })

  test('gets its exports whole, and each page whole or not yet', () => {
    const exports = found.received.filter(({ asked }) => !asked.includes('page='))
    expect(exports.map(({ status, rows: count, isWhole }) => [status, count, isWhole])).toEqual(
      exports.map(() => [200, rows, true]),
    )
    for (const { status, rows: count, isWhole } of found.received.filter(({ asked }) => asked.includes('page=')))
      expect([status, count, isWhole]).toEqual(status === 429 ? [429, 0, true] : [200, 100, true])
  })

  test('gets its pages later', async () => {
    expect(await stage.askForPage()).toMatchObject({ status: 200, rows: 100, isWhole: true })
  })

  test('takes no other team an answer', () => {
    expect(Object.keys(found.bystander.statuses)).toEqual(['200'])
  })

  test('leaves the processes small', () => {
    for (const bytes of found.peakBytes) expect(bytes).toBeLessThan(boundBytes)
  })
})
