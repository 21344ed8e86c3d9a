import { jest } from '@jest/globals'
import { RebuildReport } from '../../../../indexer/generations/rebuildReport.ts'
import type { TerminalReport } from '../../../../src/core/process/progressBar.ts'
import type { RedisConnection } from '../../../../src/core/redis/redis.ts'
import { redisKeys } from '../../../../src/core/redis/redisKeys.ts'
import { flushPromises, handClock } from '../../../support/handClock.ts'

afterEach(() => jest.useRealTimers())

/** A rebuild's report whose clock is in the hands of the test, and what it sent to Redis. `answer`: of Redis. */
function openReport(answer = async (): Promise<unknown> => 'OK') {
  const clock = handClock()
  const sent: unknown[] = []
  const printed: unknown[] = []
  const client = {
    set: (_name: string, text: string, ...life: unknown[]) => {
      sent.push([JSON.parse(text), ...life])
      return answer()
    },
    del: async (name: string) => sent.push(name),
  }
  const redis = { client, keys: redisKeys('t') } as unknown as RedisConnection
  const terminal: TerminalReport = { step: () => 0, end: () => 0, progress: (...words) => printed.push(words) }
  return { ...clock, sent, printed, report: new RebuildReport(redis, terminal, clock.nowMs) }
}

const nothing = { done: null, total: null, perSecond: null }

test('progress is printed, and stored as long as the rebuild lives', async () => {
  const { report, sent, printed, tickAt, isTicking } = openReport()
  await flushPromises()
  expect(sent).toEqual([[{ generation: null, phase: 'prepare', ...nothing }, 'PX', 7 * 86_400_000]])
  report.enter('fill', 2)
  report.terminal.progress('records read', 0, 300)
  await tickAt(1_400)
  report.terminal.progress('records read', 40, 300)
  await tickAt(2_000)
  report.terminal.progress('records read', 100, 300)
  await tickAt(3_000)
  expect(printed).toHaveLength(3)
  const filling = { generation: 2, phase: 'fill', total: 300 }
  expect(sent.slice(1).map((store) => (store as unknown[])[0])).toEqual([
    { ...filling, done: 40, perSecond: null },
    { ...filling, done: 100, perSecond: 50 },
  ])
  report.enter('compare')
  await tickAt(4_500)
  expect(sent.at(-1)).toMatchObject([{ generation: 2, phase: 'compare', ...nothing }, 'PX', 7 * 86_400_000])

  await report.end('failed')
  expect(isTicking()).toBe(false)
  expect(sent).toHaveLength(4)
})

test('a finished rebuild removes what it has stored, after what it was about to store', async () => {
  const stored = Promise.withResolvers<string>()
  const { report, sent } = openReport(() => stored.promise)
  const ended = report.end('finished')
  await flushPromises()
  expect(sent).toHaveLength(1)
  stored.resolve('OK')
  await ended
  expect(sent[1]).toBe('t:rebuild-progress')
})

test('without Redis, a rebuild goes on', async () => {
  const { report, sent, tickAt } = openReport(() => Promise.reject(new Error('away')))
  await tickAt(3_000)
  expect(sent).toHaveLength(3)
  await report.end('finished')
})
