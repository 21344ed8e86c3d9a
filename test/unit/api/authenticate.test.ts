import fc from 'fast-check'
import { authenticate, bearerToken } from '../../../src/api/authenticate.ts'
import type { ApiContext, KeyHolderState, RouteState } from '../../../src/api/context.ts'
import { RequestError } from '../../../src/api/requestError.ts'
import type { Digest, EntityId, TeamId } from '../../../src/core/model/ids.ts'
import { AccountKeysIncomplete, type KeyHolder, type Lookup } from '../../../src/core/stores/accountKeyStore.ts'

const holder: KeyHolder = {
  teamId: 'team-1' as TeamId,
  keyId: 'key-1' as EntityId,
  state: 'active',
  expiresAtMs: null,
}

const askedOf = (): KeyHolderState => ({ freshness: new Promise(() => {}), counted: new Promise(() => {}) })

const contextOf = (authorization: string): ApiContext =>
  ({ get: () => authorization, req: { headersDistinct: {} }, state: {} }) as unknown as ApiContext

async function judge(header: string, lookup: Lookup, nowMs = 0): Promise<{ lookups: Digest[]; outcome: unknown }> {
  const lookups: Digest[] = []
  const keys = {
    lookup: async (digest: Digest) => {
      lookups.push(digest)
      return lookup
    },
  }
  const ctx = contextOf(header)
  const passes = async (): Promise<unknown> => ctx.state.holder
  try {
    return {
      lookups,
      outcome: await authenticate(keys, askedOf, () => nowMs)(ctx, passes),
    }
  } catch (error) {
    return { lookups, outcome: error instanceof RequestError ? error.failure : error }
  }
}

const refused = (isTokenSent: boolean) => ({ kind: 'unauthorized', isTokenSent })

describe('authenticate', () => {
  test('passes the holder of an active key on, after one look-up', async () => {
    const { lookups, outcome } = await judge('Bearer rqp_acct_1', { found: holder })
    expect(outcome).toEqual(holder)
    expect(lookups).toHaveLength(1)
  })

  test('looks nothing up for what is no account key', async () => {
    const other = fc.string().filter((token) => !token.trimStart().startsWith('rqp_acct_'))
    await fc.assert(
      fc.asyncProperty(other, async (token) => {
        const { lookups, outcome } = await judge(`Bearer ${token}`, { found: holder })
        expect(lookups).toEqual([])
        expect(outcome).toMatchObject({ kind: 'unauthorized' })
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
    expect((await judge('Bearer rqp_acct_1', { found }, nowMs)).outcome).toEqual(refused(true))
  })

  test('passes a key until it expires', async () => {
    const expiring = { ...holder, expiresAtMs: 100 }
    expect((await judge('Bearer rqp_acct_1', { found: expiring }, 99)).outcome).toEqual(expiring)
  })

  test('says whether a token was sent', async () => {
    expect((await judge('', { found: null })).outcome).toEqual(refused(false))
    expect((await judge('Basic x', { found: null })).outcome).toEqual(refused(false))
    expect((await judge('Bearer x', { found: null })).outcome).toEqual(refused(true))
  })

  test('neither passes nor refuses while the key view is incomplete', async () => {
    expect((await judge('Bearer rqp_acct_1', 'incomplete')).outcome).toBeInstanceOf(AccountKeysIncomplete)
  })
})

describe('what else is asked of Redis', () => {
  const other: KeyHolder = { ...holder, teamId: 'team-2' as TeamId }
  const revoked: KeyHolder = { ...holder, state: 'revoked' }

  /** Requests of one key, one after the other: what is asked, in order, and with whose answers a request goes on. */
  async function follow(...found: (KeyHolder | null)[]): Promise<string[][]> {
    const events: string[][] = []
    const answers = found.values()
    const asked = new Map<unknown, string>()
    const pass = authenticate(
      {
        lookup: async () => {
          events.at(-1)?.push('key')
          return { found: answers.next().value ?? null }
        },
      },
      ({ teamId }) => {
        events.at(-1)?.push(teamId)
        const fresh = askedOf()
        asked.set(fresh.counted, teamId)
        return fresh
      },
      () => 0,
    )
    for (const _ of found) {
      events.push([])
      const ctx = contextOf('Bearer rqp_acct_1')
      const next = async (): Promise<void> => {
        const { holder: passed, counted } = ctx.state as RouteState
        events.at(-1)?.push(`goes on as ${passed.teamId} with what was asked of ${asked.get(counted)}`)
      }
      await pass(ctx, next).catch(() => events.at(-1)?.push('refused'))
    }
    return events
  }
  const goesOn = (teamId: string): string => `goes on as ${teamId} with what was asked of ${teamId}`

  test('waits for the key at its first request, and goes along with it at the next', async () => {
    expect(await follow(holder, holder)).toEqual([
      ['key', 'team-1', goesOn('team-1')],
      ['key', 'team-1', goesOn('team-1')],
    ])
  })

  test('is asked anew when the key has become the key of somebody else', async () => {
    expect(await follow(holder, other, other)).toEqual([
      ['key', 'team-1', goesOn('team-1')],
      ['key', 'team-1', 'team-2', goesOn('team-2')],
      ['key', 'team-2', goesOn('team-2')],
    ])
  })

  test.each([null, revoked])('is not asked again for a key that is %p', async (gone) => {
    expect(await follow(holder, gone, gone)).toEqual([
      ['key', 'team-1', goesOn('team-1')],
      ['key', 'team-1', 'refused'],
      ['key', 'refused'],
    ])
  })

  test('goes along with the key before its answer is there', async () => {
    const order: string[] = []
    const { promise, resolve } = Promise.withResolvers<Lookup>()
    const lookups = [Promise.resolve({ found: holder }), promise].values()
    const pass = authenticate(
      { lookup: () => lookups.next().value ?? promise },
      () => {
        order.push('asked')
        return askedOf()
      },
      () => 0,
    )
    const ctx = contextOf('Bearer rqp_acct_1')
    await pass(ctx, async () => undefined)
    const second = pass(ctx, async () => undefined)
    order.push('key answered')
    resolve({ found: holder })
    await second
    expect(order).toEqual(['asked', 'asked', 'key answered'])
  })
})

test.each([
  ['Bearer abc', 'abc'],
  ['bearer   abc', 'abc'],
  ['Bearer abc def', 'abc def'],
  ['Bearer', ''],
  ['Bearerabc', ''],
  ['Basic abc', ''],
  ['', ''],
])('the bearer token of %p is %p', (header, token) => {
  expect(bearerToken(header)).toBe(token)
})
