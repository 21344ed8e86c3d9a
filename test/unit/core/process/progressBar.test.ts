import { PassThrough } from 'node:stream'
import { startProgressBar } from '../../../../src/core/process/progressBar.ts'
import { eventually } from '../../../support/eventually.ts'

test('where there is no terminal, every quarter is a line of its own', () => {
  const stream = new PassThrough()
  const bar = startProgressBar('Sending', 8, stream as unknown as NodeJS.WriteStream)
  for (let done = 0; done <= 9; done++) bar.reach(done)
  bar.end()
  expect(String(stream.read())).toBe(
    [
      'Sending 2 of 8, about 0 s left',
      'Sending 4 of 8, about 0 s left',
      'Sending 6 of 8, about 0 s left',
      'Sending 8 of 8, done',
      '',
    ].join('\n'),
  )
})

test('a bar on a terminal says nothing of the time that is left until it knows it', async () => {
  let shown = ''
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 120, rows: 40 })
  terminal.setEncoding('utf8').on('data', (text: string) => {
    shown += text
  })
  const total = 1e12
  const bar = startProgressBar('Sending', total, terminal as unknown as NodeJS.WriteStream)
  try {
    bar.reach(0)
    await eventually(() => shown.includes(`0 of ${total}`))
    bar.reach(1)
    await eventually(() => shown.includes(`1 of ${total}`))
    expect(shown).not.toMatch(/left|NULL|INF|LLs|NFs/)
    bar.reach(total - 1)
    await eventually(() => /9 of 1\d+, \d+s left/.test(shown))
  } finally {
    bar.end()
  }
})
