import type { AccountKeyManager } from '../../../src/settings/accountKeyManager.ts'
import { createKey, readCreateKeyForm } from '../../../src/settings/createKey.ts'
import type { CreatedKey, CreateKeyRequest } from '../../../src/settings/keyRules.ts'
import type { OpenSession } from '../../../src/settings/sessions.ts'

const session = { id: 'id', secret: 'secret' } as OpenSession

/** The seed of the key that a form creates. */
async function seed(changes: Partial<OpenSession>, once = 'once'): Promise<string> {
  let seed: Uint8Array | undefined
  const keys = {
    create: async (request: CreateKeyRequest) => {
      seed = request.seed
      return {} as CreatedKey
    },
  } as AccountKeyManager
  await createKey(keys, { ...session, ...changes }, { name: 'n', expires: '', once })
  return Buffer.from(seed ?? []).toString('hex')
}

test('a seed depends on session, secret and form, and on nothing else', async () => {
  expect(await seed({})).toBe(await seed({ csrf: 'other' }))
  expect(Buffer.from(await seed({}), 'hex')).toHaveLength(32)
  const all = [await seed({}), await seed({ id: 'other' }), await seed({ secret: 'other' }), await seed({}, 'other')]
  expect(new Set(all).size).toBe(all.length)
})

test.each(['', 'short', 'x'.repeat(65), 'with a space and more', '<script></script>'])('"%s" names no form', (once) => {
  expect(() => readCreateKeyForm(new URLSearchParams({ once, name: 'n' }))).toThrow('foreign-form')
})
