import { PassThrough } from 'node:stream'
import { startProgressBar } from '../../src/progressBar.ts'

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
