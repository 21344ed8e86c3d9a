import { PassThrough } from 'node:stream'
import { jest } from '@jest/globals'
import { startProgressBar } from '../../../../src/core/process/progressBar.ts'

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] })
})
afterEach(() => {
  jest.useRealTimers()
})

test('without a terminal, progress is one line every ten seconds, without control characters', () => {
  const stream = new PassThrough({ encoding: 'utf8' })
  const bar = startProgressBar('Sending', 8, stream as unknown as NodeJS.WriteStream)
  for (let done = 1; done <= 4; done++) {
    bar.reach(2 * done)
    jest.advanceTimersByTime(10_000)
  }
  bar.end()
  const lines = String(stream.read()).split('\n')
  const reached = lines.map((line) => /^Sending [█░]+ (\d) of 8(, \d+s left)?$/.exec(line)?.[1] ?? '-')
  expect(reached.join('')).toBe('024688--')
})
