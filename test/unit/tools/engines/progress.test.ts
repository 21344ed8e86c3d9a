import { PassThrough } from 'node:stream'
import { progressView } from '../../../../tools/engines/progress.ts'

const streamOf = (traits: { isTTY: boolean; columns: number }) => {
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), traits)
  return { stream: stream as unknown as NodeJS.WriteStream, written: () => stream.read() as string }
}

test('prints each step once where there is no terminal', () => {
  const { stream, written } = streamOf({ isTTY: false, columns: 80 })
  const view = progressView(stream)
  view.report({ engine: 'kafka', step: 'fetching' })
  view.report({ engine: 'kafka', step: 'fetching', detail: '1/2 MB' })
  view.report({ engine: 'redis', step: 'starting' })
  view.report({ engine: 'kafka', step: 'ready', detail: '127.0.0.1:9092' })
  view.end()
  expect(written()).toBe('kafka: fetching\nredis: starting\nkafka: ready 127.0.0.1:9092\n')
})

test('keeps one line, no wider than the terminal, and clears it at the end', () => {
  const { stream, written } = streamOf({ isTTY: true, columns: 30 })
  const view = progressView(stream)
  view.report({ engine: 'kafka', step: 'fetching', detail: '1/2 MB' })
  view.report({ engine: 'elasticsearch', step: 'starting' })
  view.end()
  const [, first, second, last] = written().split('\r\u001B[K')
  expect(first).toBe('kafka: fetching 1/2 MB')
  expect(second).toBe('kafka: fetching 1/2 MB · elas')
  expect(last).toBe('')
})
