import { PassThrough } from 'node:stream'
import { jest } from '@jest/globals'
import { startProgressBar } from '../../../../src/core/process/progressBar.ts'

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] })
})
afterEach(() => {
  jest.useRealTimers()
})

test('where there is no terminal, every ten seconds are a line, without control characters', () => {
  const stream = new PassThrough({ encoding: 'utf8' })
  const bar = startProgressBar('Sending', 8, stream as unknown as NodeJS.WriteStream)
  for (let done = 1; done <= 4; done++) {
    bar.reach(2 * done)
    jest.advanceTimersByTime(10_000)
  }
  bar.end()
  const lines = String(stream.read()).split('\n')
  expect(lines.map((line) => /^Sending [█░]+ (\d) of 8(, \d+s left)?$/.exec(line)?.[1])).toEqual([
    '0',
    '2',
    '4',
    '6',
    '8',
    '8',
    undefined,
  ])
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
