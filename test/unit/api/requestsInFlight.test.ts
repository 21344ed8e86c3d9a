import { EventEmitter } from 'node:events'
import type { ApiContext } from '../../../src/api/context.ts'
import { limitRequestsInFlight } from '../../../src/api/requestsInFlight.ts'

const most = 8_192

test('requests are refused while too many are in flight, and accepted again once clients have disconnected', async () => {
  const limit = limitRequestsInFlight()
  const request = async (): Promise<EventEmitter> => {
    const res = Object.assign(new EventEmitter(), { closed: false })
    await limit({ res } as unknown as ApiContext, async () => undefined)
    return res
  }
  const all = await Promise.all(Array.from({ length: most }, request))
  await expect(async () => await request()).rejects.toMatchObject({ status: 503 })
  // Without `finish`, which tells that an answer was sent.
  for (const res of all) res.emit('close')
  await Promise.all(Array.from({ length: most }, request))
  await expect(async () => await request()).rejects.toMatchObject({ status: 503 })
})
