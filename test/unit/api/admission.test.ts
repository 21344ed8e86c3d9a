import { EventEmitter } from 'node:events'
import { admitTeams } from '../../../src/api/admission.ts'
import type { RouteContext } from '../../../src/api/context.ts'
import { RequestError } from '../../../src/api/requestError.ts'

const maxOfTeam = 512

/** Lets requests of a team in; each tells whether it was. */
function door() {
  const middleware = admitTeams()
  return async (teamId: string, isClosed = false): Promise<{ isIn: boolean; leave(): void }> => {
    const res = Object.assign(new EventEmitter(), { closed: isClosed })
    const ctx = { state: { holder: { teamId } }, res } as unknown as RouteContext
    const isIn = await Promise.resolve()
      .then(() => middleware(ctx, async () => undefined))
      .then(
        () => true,
        (error: unknown) => {
          if (error instanceof RequestError) return false
          throw error
        },
      )
    return { isIn, leave: () => res.emit('close') }
  }
}

test('a team fills its own share and no other, and has room again when an answer is taken', async () => {
  const enter = door()
  const inside = await Promise.all(Array.from({ length: maxOfTeam }, () => enter('acme')))
  expect(inside.every(({ isIn }) => isIn)).toBe(true)
  expect((await enter('acme')).isIn).toBe(false)
  expect((await enter('other')).isIn).toBe(true)
  inside[0]?.leave()
  expect((await enter('acme')).isIn).toBe(true)
  expect((await enter('acme')).isIn).toBe(false)
})

test('clients who left before they were let in take no room', async () => {
  const enter = door()
  for (let at = 0; at < 2 * maxOfTeam; at++) await enter('acme', true)
  expect((await enter('acme')).isIn).toBe(true)
})
