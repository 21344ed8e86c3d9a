import { EventEmitter } from 'node:events'
import { RateLimiterRes } from 'rate-limiter-flexible'
import { authenticate, createHolderLookup, createRecheck } from '../../../src/api/authenticate.ts'
import type { ApiContext, RouteContext } from '../../../src/api/context.ts'
import type { CountedRequest } from '../../../src/api/rateLimit.ts'
import type { Digest, EntityId, TeamId } from '../../../src/core/model/ids.ts'
import { AccountKeysIncomplete, type KeyHolder, type Lookup } from '../../../src/core/stores/accountKeyStore.ts'
import type { Freshness } from '../../../src/core/stores/listVersions.ts'

const holder: KeyHolder = {
  teamId: 'team-1' as TeamId,
  keyId: 'key-1' as EntityId,
  state: 'active',
  expiresAtMs: null,
}

const digest = 'digest-1' as Digest
const freshness: Freshness = {
  watermark: null,
  versions: { forms: null, submissions: null },
  settled: { forms: true, submissions: true },
}
const lookupOf = (found: KeyHolder | null): Lookup => (found === null ? { found } : { found, freshness })
const countedOf = async (): Promise<CountedRequest> => ({ isRefused: false, window: new RateLimiterRes(1, 1_000) })

const contextOf = (authorization: string): ApiContext =>
  ({
    get: () => authorization,
    set: () => undefined,
    req: { headersDistinct: {} },
    res: new EventEmitter(),
    state: {},
  }) as unknown as ApiContext

describe('the count of a request', () => {
  const other: KeyHolder = { ...holder, teamId: 'team-2' as TeamId }
  const revoked: KeyHolder = { ...holder, state: 'revoked' }

  /** Requests with one key, one after the other: whose requests are counted, in order, and whose count a request gets. */
  async function follow(...found: (KeyHolder | null)[]): Promise<string[][]> {
    const events: string[][] = []
    const answers = found.values()
    const countedFor = new Map<unknown, string>()
    const lookUp = createHolderLookup(
      {
        lookup: async () => {
          events.at(-1)?.push('key')
          return lookupOf(answers.next().value ?? null)
        },
      },
      ({ teamId }) => {
        events.at(-1)?.push(teamId)
        const counted = countedOf()
        countedFor.set(counted, teamId)
        return counted
      },
      () => 0,
    )
    for (const _ of found) {
      const own: string[] = []
      events.push(own)
      await lookUp(digest).then(
        ({ holder: passed, counted }) =>
          own.push(`passes as ${passed.teamId} with the count of ${countedFor.get(counted)}`),
        () => own.push('refused'),
      )
    }
    return events
  }
  const passes = (teamId: string): string => `passes as ${teamId} with the count of ${teamId}`

  const [first, second] = ['team-1', 'team-2']
  test.each([
    ['the same holder', holder, [['key', first, passes(first)]]],
    [
      'another holder',
      other,
      [
        ['key', first, second, passes(second)],
        ['key', second, passes(second)],
      ],
    ],
    [
      'no holder',
      null,
      [
        ['key', first, 'refused'],
        ['key', 'refused'],
      ],
    ],
    [
      'a holder whose key is revoked',
      revoked,
      [
        ['key', first, 'refused'],
        ['key', 'refused'],
      ],
    ],
  ])('is that of the holder of now, when the key has %s', async (_whom, found, events) => {
    const later = events.map(() => found)
    expect(await follow(holder, ...later)).toEqual([['key', first, passes(first)], ...events])
  })

  test('is sent before the lookup of a remembered key is answered', async () => {
    const order: string[] = []
    const { promise, resolve } = Promise.withResolvers<Lookup>()
    const lookups = [Promise.resolve(lookupOf(holder)), promise].values()
    const lookUp = createHolderLookup(
      { lookup: () => lookups.next().value ?? promise },
      () => {
        order.push('counted')
        return countedOf()
      },
      () => 0,
    )
    await lookUp(digest)
    const second = lookUp(digest)
    order.push('key answered')
    resolve(lookupOf(holder))
    await second
    expect(order).toEqual(['counted', 'counted', 'key answered'])
  })
})

describe('a key that is judged again', () => {
  const judgeAgain = async (lookup: Lookup, nowMs = 0): Promise<unknown> => {
    const ctx = Object.assign(contextOf('Bearer rqp_acct_1'), { state: { holder } }) as unknown as RouteContext
    try {
      await createRecheck({ lookup: async () => lookup }, () => nowMs)(ctx)
      return ctx.state
    } catch (error) {
      return error
    }
  }

  test('passes with the freshness of now', async () => {
    expect(await judgeAgain(lookupOf(holder))).toEqual({ holder, freshness })
  })

  test.each([
    ['unknown', null, 0],
    ['revoked', { ...holder, state: 'revoked' as const }, 0],
    ['expired', { ...holder, expiresAtMs: 100 }, 100],
    ['now that of another holder', { ...holder, keyId: 'key-2' as EntityId }, 0],
    ['now that of another team', { ...holder, teamId: 'team-2' as TeamId }, 0],
  ])('is refused when it is %s', async (_why, found, nowMs) => {
    expect(await judgeAgain(lookupOf(found), nowMs)).toMatchObject({
      code: 'unauthorized',
      headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
    })
  })

  test('is neither good nor bad when it cannot be looked up', async () => {
    expect(await judgeAgain('incomplete')).toBeInstanceOf(AccountKeysIncomplete)
  })
})

test("a request beyond its team's share of concurrent ones is told its limit, too", async () => {
  const lookUpHolder = createHolderLookup(
    { lookup: async () => lookupOf(holder) },
    () => countedOf(),
    () => 0,
  )
  const pass = authenticate({ lookUpHolder, requestsPerMinute: 1, recordUse: () => undefined })
  const maxOfTeam = 512
  for (let at = 0; at < maxOfTeam; at++) await pass(contextOf('Bearer rqp_acct_1'), async () => undefined)
  const headers: Record<string, unknown> = {}
  const ctx = Object.assign(contextOf('Bearer rqp_acct_1'), {
    set: (name: string, value: unknown) => {
      headers[name] = value
    },
  })
  await expect(pass(ctx, async () => undefined)).rejects.toMatchObject({ status: 503 })
  expect(headers).toEqual({ 'RateLimit-Policy': '"key";q=1;w=60', RateLimit: '"key";r=1;t=1' })
})
