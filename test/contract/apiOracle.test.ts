import { isDeepStrictEqual } from 'node:util'
import { toInstant } from '../../src/core/model/instant.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { expectedAnswer } from '../support/queryOracle.ts'
import { type QueryWorld, queryWorld } from '../support/queryWorld.ts'
import { seeded } from '../support/random.ts'
import { randomQuery } from '../support/randomQueries.ts'
import { createTestReplica, type TestReplica } from '../support/replica.ts'

/** ORACLE_SEED and ORACLE_QUERIES, from the message of a failure, repeat it. */
const seed = Number(process.env['ORACLE_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const queries = Number(process.env['ORACLE_QUERIES'] ?? 400)
const atATime = 8
const patienceMs = 60_000 + queries * 100

let replica: TestReplica
let world: QueryWorld
let keys: ReadonlyMap<string, string>
/** One that finds pages as it does by default, and one that finds every page but the first as those far down. */
let apis: readonly TestApi[]

beforeAll(async () => {
  replica = await createTestReplica()
  await replica.completeAccountKeys()
  await replica.publishWatermark(toInstant(Date.now()))
  world = queryWorld(seed)
  await world.storeIn(replica)
  keys = new Map(await Promise.all(world.teams.map(async (team) => [team, await replica.storeKey(team)] as const)))
  const settings = { INDEX_PREFIX: replica.prefix, RATE_LIMIT_PER_MINUTE: '1000000000' }
  apis = await Promise.all(
    [{}, { DEEP_PAGE_FROM: '1' }].map((more) => startTestApi({ settings: { ...settings, ...more } })),
  )
})
afterAll(async () => {
  for (const api of apis) await api.close()
  await replica.close()
})

async function expectAsPlainRulesSay(number: number): Promise<void> {
  const random = seeded(seed + number)
  const query = randomQuery(random, world)
  const { status, json } = await random.pick(apis).send(query.target, { key: keys.get(query.team) ?? '' })
  const body = status === 400 ? { error: { code: (json as { error: { code: string } }).error.code } } : json
  const expected = expectedAnswer(world.held, query)
  if (isDeepStrictEqual({ status, body }, expected)) return
  const repeat = `ORACLE_SEED=${seed} ORACLE_QUERIES=${number + 1}`
  expect({ repeat, query, status, body }).toEqual({ repeat, query, ...expected })
}

test(
  'every answer of a list is what plain rules make of all that is held, whatever the filter and the page',
  async () => {
    let next = 0
    const askOn = async (): Promise<void> => {
      while (next < queries) await expectAsPlainRulesSay(next++)
    }
    await Promise.all(Array.from({ length: atATime }, askOn))
  },
  patienceMs,
)
