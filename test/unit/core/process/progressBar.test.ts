import { PassThrough } from 'node:stream'
import { jest } from '@jest/globals'
import { startProgressBar } from '../../../../src/core/process/progressBar.ts'

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] })
})
afterEach(() => {
  jest.useRealTimers()
})

test('where there is no terminal, every quarter is a line of its own', () => {
  const stream = new PassThrough()
  const bar = startProgressBar('Sending', 8, stream as unknown as NodeJS.WriteStream)
  for (let done = 0; done <= 9; done++) {
    bar.reach(done)
    jest.advanceTimersByTime(10_000)
  }
  bar.end()
  expect(String(stream.read())).toBe(
    [
      'Sending 2 of 8, about 60 s left',
      'Sending 4 of 8, about 40 s left',
      'Sending 6 of 8, about 20 s left',
      'Sending 8 of 8, done',
      '',
    ].join('\n'),
  )
})

test('a bar on a terminal says nothing of the time that is left until it knows it', () => {
  const terminal = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true, columns: 120, rows: 40 })
  const total = 1e12
  const bar = startProgressBar('Sending', total, terminal as unknown as NodeJS.WriteStream)
  const shownAt = (value: number): string => {
    bar.reach(value)
    jest.advanceTimersByTime(1_000)
    return String(terminal.read())
  }
  try {
    for (const value of [0, 1]) {
      const shown = shownAt(value)
      expect(shown).toContain(`${value} of ${total}`)
      expect(shown).not.toMatch(/left|NULL|INF|LLs|NFs/)
    }
    expect(shownAt(total - 1)).toMatch(/9 of 1\d+, \d+s left/)
  } finally {
    bar.end()
  }
})
