import { errors } from '@elastic/elasticsearch'
import { ReplyError } from 'ioredis'
import { createLog, jsonLine } from '../../../../src/core/monitoring/log.ts'

const logged = (error: unknown): string => {
  let line = ''
  const write = (text: string): void => {
    line += text
  }
  createLog({ name: 'test', level: 'trace' }, { write }).warn({ err: error }, 'failed')
  return line
}
const described = (error: unknown): unknown => (JSON.parse(logged(error)) as { err: unknown }).err

test('an error is logged with its name, message, code, frames and causes', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  expect(described(new TypeError('no answer', { cause }))).toMatchObject({
    type: 'TypeError',
    message: 'no answer',
    stack: expect.stringMatching(/^\s+at /),
    cause: { type: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' },
  })
  expect(JSON.parse(logged(cause))).toMatchObject({ name: 'test', msg: 'failed', err: { code: 'ECONNREFUSED' } })
})

test('each error of an AggregateError is logged', () => {
  expect(described(new AggregateError([new Error('one'), new Error('two')]))).toMatchObject({
    errors: [{ message: 'one' }, { message: 'two' }],
  })
})

test("errors that are each other's cause are logged", () => {
  const [a, b] = [new Error('a'), new Error('b')]
  a.cause = b
  b.cause = a
  expect(logged(a)).toContain('"b"')
})

const refused = new errors.ResponseError({
  statusCode: 400,
  headers: {},
  warnings: null,
  body: { error: { type: 'mapper_parsing_exception', reason: 'canary' } },
  meta: { request: { params: { body: 'canary' } } } as never,
})
test.each([
  ['arguments of a command', Object.assign(new ReplyError('WRONGPASS'), { command: { args: ['canary'] } })],
  ['a request and its answer', refused],
  ['text that is no JSON', parsingError()],
  ['values that are no errors', 'canary'],
])('%s are not logged', (_what, error) => {
  expect(logged(error)).not.toContain('canary')
})

test('a refusal of Elasticsearch is logged with status and type', () => {
  expect(described(refused)).toMatchObject({ message: '400 mapper_parsing_exception' })
})

function parsingError(): unknown {
  try {
    return JSON.parse('canary')
  } catch (error) {
    return error
  }
}

test('a line of JSON has no control character, and the same value', () => {
  const value = { text: 'a\u001b\u009b1m\u202e\u{e0001}\nb\u2028c\u2029', more: [1, null, '上海'] }
  const line = jsonLine(value)
  expect(line.slice(0, -1)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  expect([JSON.parse(line), line.at(-1)]).toEqual([value, '\n'])
})
