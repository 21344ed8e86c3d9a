import { failureOf, fromRedis, RequestError } from '../../../src/api/requestError.ts'
import { ElasticsearchUnavailable } from '../../../src/api/search/searchClient.ts'
import { AccountKeysIncomplete } from '../../../src/core/stores/accountKeyStore.ts'

describe('failureOf', () => {
  test('a request failure is what it says', () => {
    expect(failureOf(new RequestError({ kind: 'method_not_allowed' }))).toEqual({ kind: 'method_not_allowed' })
  })

  test.each([
    ['elasticsearch', new ElasticsearchUnavailable('deadline', 'x')],
    ['account_keys', new AccountKeysIncomplete()],
  ])('an outage of %s', (dependency, cause) => {
    expect(failureOf(cause)).toEqual({ kind: 'service_unavailable', dependency, cause })
  })

  test.each([new TypeError('x'), 'text', undefined, null, { status: 404 }])('%p is a bug', (cause) => {
    expect(failureOf(cause)).toEqual({ kind: 'internal_error', cause })
  })
})

describe('fromRedis', () => {
  test('passes an answer on', async () => {
    expect(await fromRedis(Promise.resolve(1))).toBe(1)
  })

  test('every fault is an outage, without the arguments of the command', async () => {
    const fault = Object.assign(new Error('READONLY'), { command: { name: 'get', args: ['secret'] } })
    const thrown = await fromRedis(Promise.reject(fault)).catch((error: unknown) => error)
    expect(failureOf(thrown)).toEqual({ kind: 'service_unavailable', dependency: 'redis', cause: expect.any(Error) })
    expect(JSON.stringify(thrown)).not.toContain('secret')
    expect(thrown).toMatchObject({ failure: { cause: { message: 'Redis is unavailable: READONLY' } } })
  })
})
