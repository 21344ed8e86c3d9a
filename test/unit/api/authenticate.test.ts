import { EventEmitter } from 'node:events'
import fc from 'fast-check'
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
const countedOf = async (isRefused = false): Promise<CountedRequest> => ({
  isRefused,
  window: new RateLimiterRes(isRefused ? 0 : 1, 1_000),
})

const contextOf = (authorization: string): ApiContext =>
  ({
    get: () => authorization,
    set: () => undefined,
    req: { headersDistinct: {} },
    res: new EventEmitter(),
    state: {},
  }) as unknown as ApiContext

type Outcome = { lookups: Digest[]; used: KeyHolder[]; outcome: unknown }

async function outcomeOf(header: string, lookup: Lookup, nowMs = 0, isRefused = false): Promise<Outcome> {
  const lookups: Digest[] = []
  const keys = {
    lookup: async (digest: Digest) => {
      lookups.push(digest)
      return lookup
    },
  }
  const used: KeyHolder[] = []
  const lookUpHolder = createHolderLookup(
    keys,
    () => countedOf(isRefused),
    () => nowMs,
  )
  const recordUse = (by: KeyHolder): number => used.push(by)
  const ctx = contextOf(header)
  try {
    const pass = authenticate({ lookUpHolder, requestsPerMinute: 1, recordUse })
    return { lookups, used, outcome: await pass(ctx, async () => ctx.state) }
  } catch (error) {
    return { lookups, used, outcome: error }
  }
}

const refused = (isTokenSent: boolean) =>
  expect.objectContaining({
    code: 'unauthorized',
    headers: { 'WWW-Authenticate': isTokenSent ? 'Bearer error="invalid_token"' : 'Bearer' },
  })

describe('authenticate', () => {
  test('passes the holder of an active key and the freshness of its lists on, after one lookup', async () => {
    const { lookups, used, outcome } = await outcomeOf('Bearer rqp_acct_1', lookupOf(holder))
    expect(outcome).toMatchObject({ holder, freshness })
    expect(lookups).toHaveLength(1)
    expect(used).toEqual([holder])
  })

  test('looks nothing up for what is no account key', async () => {
    const other = fc.string().filter((token) => !token.trimStart().startsWith('rqp_acct_'))
    await fc.assert(
      fc.asyncProperty(other, async (token) => {
        const { lookups, outcome } = await outcomeOf(`Bearer ${token}`, lookupOf(holder))
        expect(lookups).toEqual([])
        expect(outcome).toMatchObject({ code: 'unauthorized' })
      }),
    )
  })
})

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

  test('follows the lookup of a key at its first request, and is sent with it at the next', async () => {
    expect(await follow(holder, holder)).toEqual([
      ['key', 'team-1', passes('team-1')],
      ['key', 'team-1', passes('team-1')],
    ])
  })

  test('is sent again when the key has another holder now', async () => {
    expect(await follow(holder, other, other)).toEqual([
      ['key', 'team-1', passes('team-1')],
      ['key', 'team-1', 'team-2', passes('team-2')],
      ['key', 'team-2', passes('team-2')],
    ])
  })

  test.each([null, revoked])('is not sent again for a key that is %p', async (gone) => {
    expect(await follow(holder, gone, gone)).toEqual([
      ['key', 'team-1', passes('team-1')],
      ['key', 'team-1', 'refused'],
      ['key', 'refused'],
    ])
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
    expect(await judgeAgain(lookupOf(found), nowMs)).toEqual(refused(true))
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
