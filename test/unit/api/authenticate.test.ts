import { EventEmitter } from 'node:events'
import fc from 'fast-check'
import { RateLimiterRes } from 'rate-limiter-flexible'
import { authenticate, createHolderLookup, type HolderQueries } from '../../../src/api/authenticate.ts'
import type { ApiContext } from '../../../src/api/context.ts'
import { digestOf } from '../../../src/core/model/accountKey.ts'
import type { Digest, EntityId, TeamId } from '../../../src/core/model/ids.ts'
import { AccountKeysIncomplete, type KeyHolder, type Lookup } from '../../../src/core/stores/accountKeyStore.ts'

const holder: KeyHolder = {
  teamId: 'team-1' as TeamId,
  keyId: 'key-1' as EntityId,
  state: 'active',
  expiresAtMs: null,
}

const digest = 'digest-1' as Digest
const freshness = {
  watermark: null,
  versions: { forms: null, submissions: null },
  settled: { forms: true, submissions: true },
}
const queriesOf = (isRefused = false): HolderQueries => ({
  freshness: Promise.resolve(freshness),
  counted: Promise.resolve({ isRefused, window: new RateLimiterRes(isRefused ? 0 : 1, 1_000) }),
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
    () => queriesOf(isRefused),
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
    const { lookups, used, outcome } = await outcomeOf('Bearer rqp_acct_1', { found: holder })
    expect(outcome).toEqual({ holder, freshness })
    expect(lookups).toHaveLength(1)
    expect(used).toEqual([holder])
  })

  test('refuses a request above the rate limit, and records the use of its key', async () => {
    const { used, outcome } = await outcomeOf('Bearer rqp_acct_1', { found: holder }, 0, true)
    expect(outcome).toMatchObject({ code: 'rate_limited', headers: { 'Retry-After': '1' }, rejection: 'rate_limited' })
    expect(used).toEqual([holder])
  })

  test('looks nothing up for what is no account key', async () => {
    const other = fc.string().filter((token) => !token.trimStart().startsWith('rqp_acct_'))
    await fc.assert(
      fc.asyncProperty(other, async (token) => {
        const { lookups, outcome } = await outcomeOf(`Bearer ${token}`, { found: holder })
        expect(lookups).toEqual([])
        expect(outcome).toMatchObject({ code: 'unauthorized' })
      }),
    )
  })

  test.each([
    ['unknown', null, 0],
    ['revoked', { ...holder, state: 'revoked' as const }, 0],
    ['revoked before it expires', { ...holder, state: 'revoked' as const, expiresAtMs: 100 }, 0],
    ['expired at this instant', { ...holder, expiresAtMs: 100 }, 100],
    ['expired', { ...holder, expiresAtMs: 100 }, 101],
  ])('refuses a key that is %s', async (_why, found, nowMs) => {
    expect((await outcomeOf('Bearer rqp_acct_1', { found }, nowMs)).outcome).toEqual(refused(true))
  })

  test('passes a key until it expires', async () => {
    const expiring = { ...holder, expiresAtMs: 100 }
    expect((await outcomeOf('Bearer rqp_acct_1', { found: expiring }, 99)).outcome).toEqual({
      holder: expiring,
      freshness,
    })
  })

  test('says whether a token was sent', async () => {
    expect((await outcomeOf('', { found: null })).outcome).toEqual(refused(false))
    expect((await outcomeOf('Basic x', { found: null })).outcome).toEqual(refused(false))
    expect((await outcomeOf('Bearer x', { found: null })).outcome).toEqual(refused(true))
  })

  test('neither passes nor refuses while the account-key store is incomplete', async () => {
    expect((await outcomeOf('Bearer rqp_acct_1', 'incomplete')).outcome).toBeInstanceOf(AccountKeysIncomplete)
  })
})

describe('the queries about the holder', () => {
  const other: KeyHolder = { ...holder, teamId: 'team-2' as TeamId }
  const revoked: KeyHolder = { ...holder, state: 'revoked' }

  /** Requests with one key, one after the other: what is queried, in order, and whose results a request gets. */
  async function follow(...found: (KeyHolder | null)[]): Promise<string[][]> {
    const events: string[][] = []
    const answers = found.values()
    const queried = new Map<unknown, string>()
    const lookUp = createHolderLookup(
      {
        lookup: async () => {
          events.at(-1)?.push('key')
          return { found: answers.next().value ?? null }
        },
      },
      ({ teamId }) => {
        events.at(-1)?.push(teamId)
        const queries = queriesOf()
        queried.set(queries.counted, teamId)
        return queries
      },
      () => 0,
    )
    for (const _ of found) {
      const own: string[] = []
      events.push(own)
      await lookUp(digest).then(
        ({ holder: passed, counted }) => own.push(`passes as ${passed.teamId} with results of ${queried.get(counted)}`),
        () => own.push('refused'),
      )
    }
    return events
  }
  const passes = (teamId: string): string => `passes as ${teamId} with results of ${teamId}`

  test('follow the lookup of a key at its first request, and are sent with it at the next', async () => {
    expect(await follow(holder, holder)).toEqual([
      ['key', 'team-1', passes('team-1')],
      ['key', 'team-1', passes('team-1')],
    ])
  })

  test('are sent again when the key has another holder now', async () => {
    expect(await follow(holder, other, other)).toEqual([
      ['key', 'team-1', passes('team-1')],
      ['key', 'team-1', 'team-2', passes('team-2')],
      ['key', 'team-2', passes('team-2')],
    ])
  })

  test.each([null, revoked])('are not sent again for a key that is %p', async (gone) => {
    expect(await follow(holder, gone, gone)).toEqual([
      ['key', 'team-1', passes('team-1')],
      ['key', 'team-1', 'refused'],
      ['key', 'refused'],
    ])
  })

  test('are sent before the lookup of a remembered key is answered', async () => {
    const order: string[] = []
    const { promise, resolve } = Promise.withResolvers<Lookup>()
    const lookups = [Promise.resolve({ found: holder }), promise].values()
    const lookUp = createHolderLookup(
      { lookup: () => lookups.next().value ?? promise },
      () => {
        order.push('queried')
        return queriesOf()
      },
      () => 0,
    )
    await lookUp(digest)
    const second = lookUp(digest)
    order.push('key answered')
    resolve({ found: holder })
    await second
    expect(order).toEqual(['queried', 'queried', 'key answered'])
  })
})

test.each([
  ['Bearer rqp_acct_1', 'rqp_acct_1'],
  ['bearer   rqp_acct_1', 'rqp_acct_1'],
  ['Bearer rqp_acct_1 def', 'rqp_acct_1 def'],
  ['Bearer', undefined],
  ['Bearerrqp_acct_1', undefined],
  ['Basic rqp_acct_1', undefined],
])('the key in %p is %p', async (header, key) => {
  expect((await outcomeOf(header, { found: holder })).lookups).toEqual(key === undefined ? [] : [digestOf(key)])
})
