import fc from 'fast-check'
import type { Digest, EntityId, TeamId } from '../../../src/domain/identifiers.ts'
import { authenticate, bearerToken } from '../../../src/http/authenticate.ts'
import type { ApiContext } from '../../../src/http/context.ts'
import { RequestFailure } from '../../../src/http/failure.ts'
import { type KeyHolder, KeyViewIncomplete, type Lookup } from '../../../src/replica/keyView.ts'

const holder: KeyHolder = {
  teamId: 'team-1' as TeamId,
  keyId: 'key-1' as EntityId,
  state: 'active',
  expiresAtMs: null,
}

async function judge(header: string, lookup: Lookup, nowMs = 0): Promise<{ lookups: Digest[]; outcome: unknown }> {
  const lookups: Digest[] = []
  const keys = {
    lookup: async (digest: Digest) => {
      lookups.push(digest)
      return lookup
    },
  }
  const ctx = { get: () => header, state: {} } as unknown as ApiContext
  const passes = async (): Promise<unknown> => ctx.state.holder
  try {
    return { lookups, outcome: await authenticate(keys, () => nowMs)(ctx, passes) }
  } catch (error) {
    return { lookups, outcome: error instanceof RequestFailure ? error.failure : error }
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
    expect((await judge('Bearer rqp_acct_1', 'incomplete')).outcome).toBeInstanceOf(KeyViewIncomplete)
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
