import { setTimeout as sleep } from 'node:timers/promises'
import { whileAppending } from '../../../../tools/bench/appending.ts'

const { signal } = new AbortController()

test('so many are appended a second as long as work goes on, and no more afterwards', async () => {
  let appended = 0
  const append = async (due: number): Promise<void> => {
    appended += due
  }
  const beganMs = performance.now()
  const outcome = await whileAppending(append, 100, signal, async () => {
    await sleep(300)
    return 'done'
  })
  const most = ((performance.now() - beganMs) * 100) / 1_000
  expect(outcome).toBe('done')
  expect(appended).toBeGreaterThan(5)
  expect(appended).toBeLessThanOrEqual(most)
  const atTheEnd = appended
  await sleep(50)
  expect(appended).toBe(atTheEnd)
})

test('work that waits is told when nothing can be appended', async () => {
  const append = (): Promise<void> => Promise.reject(new Error('Kafka is away'))
  const waiting = whileAppending(append, 1_000, signal, async (failed) => {
    await sleep(60_000, undefined, { signal: failed }).catch(() => failed.throwIfAborted())
  })
  await expect(waiting).rejects.toThrow('Kafka is away')
})

test('what work fails with ends the appending', async () => {
  const failing = whileAppending(
    async () => undefined,
    10,
    signal,
    () => Promise.reject(new Error('wrong')),
  )
  await expect(failing).rejects.toThrow('wrong')
})
