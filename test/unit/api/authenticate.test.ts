import { EventEmitter } from 'node:events'
import { authenticate, createRecheck } from '../../../src/api/authenticate.ts'
import type { ApiContext, RouteContext } from '../../../src/api/context.ts'
import type { EntityId, TeamId } from '../../../src/core/model/ids.ts'
import { AccountKeysIncomplete, type KeyHolder, type Lookup } from '../../../src/core/stores/accountKeyStore.ts'
import type { Freshness } from '../../../src/core/stores/listVersions.ts'

const holder: KeyHolder = {
  teamId: 'team-1' as TeamId,
  keyId: 'key-1' as EntityId,
  state: 'active',
  expiresAtMs: null,
}

const freshness: Freshness = {
  watermark: null,
  versions: { forms: null, submissions: null },
  settled: { forms: true, submissions: true },
}
const window = { requests: 1, leftMs: 1_000 }
const lookupOf = (found: KeyHolder | null): Lookup => (found === null ? { found } : { found, freshness, window })

const contextOf = (authorization: string): ApiContext =>
  ({
    get: () => authorization,
    set: () => undefined,
    req: { headersDistinct: {} },
    res: new EventEmitter(),
    state: {},
  }) as unknown as ApiContext

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
    ['expired', { ...holder, expiresAtMs: 100 }, 100],
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
  const pass = authenticate(
    { lookup: async () => lookupOf(holder) },
    1,
    () => undefined,
    () => 0,
  )
  const maxOfTeam = 512
  for (let at = 0; at < maxOfTeam; at++) await pass(contextOf('Bearer rqp_acct_1'), async () => undefined)
  const headers: Record<string, unknown> = {}
  const ctx = Object.assign(contextOf('Bearer rqp_acct_1'), {
    set: (name: string, value: unknown) => {
      headers[name] = value
    },
  })
  await expect(pass(ctx, async () => undefined)).rejects.toMatchObject({ status: 503 })
  expect(headers).toEqual({ 'RateLimit-Policy': '"key";q=1;w=60', RateLimit: '"key";r=0;t=1' })
})
