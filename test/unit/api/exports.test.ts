import { EventEmitter } from 'node:events'
import type { RouteContext } from '../../../src/api/context.ts'
import { createStreams } from '../../../src/api/exports.ts'

test('an export that waits for its turn or its first part is refused once its key is revoked, and frees its place', async () => {
  const refusals = new Set<() => void>()
  const startStream = createStreams((_ctx, onRefused) => {
    refusals.add(onRefused)
    return () => void refusals.delete(onRefused)
  })
  const res = Object.assign(new EventEmitter(), { closed: false })
  const state = { accountKey: { teamId: 'acme' } }
  const ctx = { res, state, set: () => undefined } as unknown as RouteContext
  const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
  async function* partOnceRead() {
    await isRead
    yield Buffer.from('part')
  }
  const start = () => startStream('large pages', ctx, partOnceRead())
  // Two take a turn.
  const refused = [start(), start(), start()].map((each) => expect(each).rejects.toMatchObject({ status: 401 }))
  await new Promise(setImmediate)
  for (const refuse of refusals) refuse()
  await Promise.all(refused)
  read()
  const streams = [await start(), await start()]
  for (const stream of streams) stream.destroy()
  Object.assign(res, { closed: true }).emit('close')
  expect(refusals.size).toBe(0)
})
