import { isDeepStrictEqual } from 'node:util'
import { toInstant } from '../../src/core/model/instant.ts'
import { queryProblems } from '../support/acceptedQueries.ts'
import { type TestApi, useApi } from '../support/api.ts'
import { queryData } from '../support/queryData.ts'
import { expectedAnswer } from '../support/queryOracle.ts'
import { seeded } from '../support/random.ts'
import { randomQuery } from '../support/randomQueries.ts'

/** ORACLE_SEED and ORACLE_QUERIES, from the message of a failure, repeat it. */
const seed = Number(process.env['ORACLE_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const queries = Number(process.env['ORACLE_QUERIES'] ?? 400)
const atATime = 8
const patienceMs = 60_000 + queries * 100

const history = queryData(seed)
const api = useApi({
  teams: history.teams,
  fill: (replica) => history.storeIn(replica),
  watermark: toInstant(Date.now()),
  settings: { RATE_LIMIT_PER_MINUTE: '1000000000' },
})
/** Every page but the first is found as `api` finds those far down. */
const deep = { DEEP_PAGE_FROM: '1' }
const uncached = { ANSWER_CACHE_BYTES: '0' }
/** These must give the answers of `api`, too. */
const others: TestApi[] = []
beforeAll(async () => {
  for (const settings of [deep, uncached, { ...deep, ...uncached }]) others.push(await api.startAnother(settings))
})

async function expectAsPlainRulesSay(number: number): Promise<void> {
  const random = seeded(seed + number)
  const query = randomQuery(random, history)
  const { status, json } = await random.pick([api, ...others]).send(query.target, { key: api.keyOf(query.team) })
  const body = status === 400 ? { error: { code: (json as { error: { code: string } }).error.code } } : json
  const expected = expectedAnswer(history.stored, query)
  // Answers that are too long for any to match are JSON in the description, if they are in it at all.
  const hasLongAnswers = (query.answers ?? []).flat(2).some(({ length }) => length > 256)
  const isRefused = queryProblems(query.target).length > 0 || hasLongAnswers
  if (isDeepStrictEqual({ status, body }, expected) && isRefused === (status === 400)) return
  const repeat = `ORACLE_SEED=${seed} ORACLE_QUERIES=${number + 1}`
  const isDescribed = !isRefused
  expect({ repeat, query, status, body, isDescribed }).toEqual({
    repeat,
    query,
    ...expected,
    isDescribed: status !== 400,
  })
}

test(
  'every page of a list, with any filter, equals plain rules over all items, and the description refuses the same queries as the API',
  async () => {
    let next = 0
    const askOn = async (): Promise<void> => {
      while (next < queries) await expectAsPlainRulesSay(next++)
    }
    await Promise.all(Array.from({ length: atATime }, askOn))
  },
  patienceMs,
)
