import { jest } from '@jest/globals'
import { type CreatedKey, KeyChangeIncomplete } from '../../../src/settings/accountKeyManager.ts'
import { keyCreator, keySeed } from '../../../src/settings/keyRoutes.ts'

const session = { id: 'id', secret: 'secret' }
const seed = (changes: Partial<typeof session>, once = 'once'): string =>
  Buffer.from(keySeed({ ...session, ...changes }, once)).toString('hex')

test('the seed of a key depends on session, secret and form', () => {
  expect(seed({})).toBe(seed({}))
  expect(Buffer.from(seed({}), 'hex')).toHaveLength(32)
  const all = [seed({}), seed({ id: 'other' }), seed({ secret: 'other' }), seed({}, 'other')]
  expect(new Set(all).size).toBe(all.length)
})

describe('A form', () => {
  const form = { name: 'n', expires: '', once: 'once' }
  const owner = { ...session, team: 'acme', sub: 'o', csrf: '' } as never
  /** Creations that end when the test says so. */
  const slow = () => {
    const under: PromiseWithResolvers<CreatedKey>[] = []
    const create = () => {
      const creation = Promise.withResolvers<CreatedKey>()
      under.push(creation)
      return creation.promise
    }
    const send = keyCreator({ create })
    return { under, send: () => send(owner, form) }
  }
  const unfinished = { kind: 'failed', problem: 'unfinished' }
  const madeBy = (isNew: boolean) => ({ plaintext: 'p', key: { name: 'n' }, isNew }) as CreatedKey

  test('that is sent twice at once creates one key, and both answers show it', async () => {
    const { under, send } = slow()
    const answers = [send(), send()]
    under[0]?.reject(new KeyChangeIncomplete('Kafka is away'))
    expect([await Promise.all(answers), under.length]).toEqual([[unfinished, unfinished], 1])
  })

  test('whose key was created after the deadline shows it once, when the form is sent again', async () => {
    jest.useFakeTimers()
    const { under, send } = slow()
    const first = send()
    await jest.advanceTimersByTimeAsync(17_000)
    under[0]?.resolve(madeBy(true))
    expect(await first).toEqual(unfinished)
    for (const isNew of [true, false]) {
      const again = send()
      under.at(-1)?.resolve(madeBy(false))
      expect(await again).toEqual({ kind: 'created', created: madeBy(isNew) })
    }
    jest.useRealTimers()
  })
})
