import fc from 'fast-check'
import { backoffMs, untilDone } from '../../../indexer/backoff.ts'

const never = new AbortController().signal
const noRandom = (): number => 0

test('a wait is anything up to a bound that doubles with every attempt, and never more than ten seconds', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, luck) => {
        const waitMs = backoffMs(attempt, () => luck)
        expect(waitMs).toBeGreaterThanOrEqual(0)
        expect(waitMs).toBeLessThanOrEqual(10_000)
        expect(waitMs).toBeLessThanOrEqual(100 * 2 ** attempt)
      },
    ),
  )
  expect([1, 2, 3, 100].map((attempt) => backoffMs(attempt, () => 0.5))).toEqual([100, 200, 400, 5_000])
})

test('what fails is tried until it succeeds, and every failure is heard of', async () => {
  const heard: string[] = []
  let tries = 0
  const attempt = async (): Promise<string> => {
    if (++tries < 4) throw new Error(`failure ${tries}`)
    return 'done'
  }
  const onFailure = (error: unknown, attempts: number): void => {
    heard.push(`${(error as Error).message}, ${attempts}`)
  }
  await expect(untilDone(attempt, onFailure, never, noRandom)).resolves.toBe('done')
  expect(heard).toEqual(['failure 1, 1', 'failure 2, 2', 'failure 3, 3'])
})

test('nothing is tried once it is to stop', async () => {
  const stopped = AbortSignal.abort(new Error('stopped'))
  const attempt = async (): Promise<never> => {
    throw new Error('tried')
  }
  await expect(untilDone(attempt, () => undefined, stopped, noRandom)).rejects.toThrow('stopped')
})

test('a wait ends at once when it is to stop', async () => {
  const stop = new AbortController()
  const failing = async (): Promise<never> => {
    throw new Error('away')
  }
  const waiting = untilDone(
    failing,
    () => stop.abort(),
    stop.signal,
    () => 1,
  )
  await expect(waiting).rejects.toThrow('abort')
})
