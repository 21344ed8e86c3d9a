import fc from 'fast-check'
import { backoffMs, Retries } from '../../../indexer/backoff.ts'
import { type CheckOutcome, failed, passed } from '../../../src/core/monitoring/health.ts'
import { createLog } from '../../../src/core/monitoring/log.ts'

const never = new AbortController().signal
const noRandom = (): number => 0
const heardIn = (lines: string[], onLine = (): void => undefined) => {
  const write = (line: string): void => {
    const { err, attempts, msg } = JSON.parse(line) as { err: Error; attempts: number; msg: string }
    lines.push(`${msg}: ${err.message}, ${attempts}`)
    onLine()
  }
  return createLog({ name: 'test', level: 'warn' }, { write })
}

test('a backoff is random up to a bound that doubles with every attempt, and at most ten seconds', () => {
  const anyLuck = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  const isBounded = fc.property(fc.integer({ min: 1, max: 10_000 }), anyLuck, (attempt, luck) => {
    const waitMs = backoffMs(attempt, () => luck)
    expect(waitMs).toBeGreaterThanOrEqual(0)
    expect(waitMs).toBeLessThanOrEqual(Math.min(10_000, 100 * 2 ** attempt))
  })
  fc.assert(isBounded)
  expect([1, 2, 3, 100].map((attempt) => backoffMs(attempt, () => 0.5))).toEqual([100, 200, 400, 5_000])
})

test('a failing step is retried until it succeeds, every failure is logged, and the last one is the reported reason', async () => {
  const heard: string[] = []
  const outcomes: CheckOutcome[] = []
  const retries = new Retries(heardIn(heard), noRandom, never)
  let tries = 0
  const attempt = async (): Promise<string> => {
    outcomes.push(retries.health())
    if (++tries < 4) throw new Error(`failure ${tries}`)
    return 'done'
  }
  await expect(retries.untilDone('a step', attempt)).resolves.toBe('done')
  expect(heard).toEqual([1, 2, 3].map((count) => `a step failed; trying again: failure ${count}, ${count}`))
  const failures = [1, 2, 3].map((count) => failed(`a step: failure ${count}`))
  expect(outcomes).toEqual([passed, ...failures])
  expect(retries.health()).toEqual(passed)
})

test('a step that still fails stays reported when another step succeeds', async () => {
  const retries = new Retries(heardIn([]), noRandom, never)
  let isAway = true
  const writing = retries.untilDone('writing', async () => {
    if (isAway) throw new Error('the topic is away')
  })
  await retries.untilDone('reading', async () => undefined)
  let tries = 0
  await retries.untilDone('asking', async () => {
    if (++tries < 3) throw new Error('busy')
  })
  expect(retries.health()).toEqual(failed('writing: the topic is away'))
  isAway = false
  await writing
  expect(retries.health()).toEqual(passed)
})

test('no step is tried after a stop', async () => {
  const stopped = AbortSignal.abort(new Error('stopped'))
  const attempt = async (): Promise<never> => {
    throw new Error('tried')
  }
  await expect(new Retries(heardIn([]), noRandom, stopped).untilDone('x', attempt)).rejects.toThrow('stopped')
  await expect(new Retries(heardIn([]), noRandom, never).untilDone('x', attempt, stopped)).rejects.toThrow('stopped')
})

test('a stop ends a backoff at once', async () => {
  const stop = new AbortController()
  const log = heardIn([], () => stop.abort())
  const failing = async (): Promise<never> => {
    throw new Error('away')
  }
  await expect(new Retries(log, () => 1, stop.signal).untilDone('x', failing)).rejects.toThrow('abort')
})
