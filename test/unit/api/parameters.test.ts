import fc from 'fast-check'
import { Registry } from 'prom-client'
import { z } from 'zod'
import type { ParameterReader } from '../../../src/api/context.ts'
import { getForm } from '../../../src/api/forms.ts'
import * as parameter from '../../../src/api/parameters.ts'
import { endpoints } from '../../../src/api/routes.ts'
import { listSubmissions } from '../../../src/api/submissions.ts'
import { seeded } from '../../support/random.ts'

const schemas = endpoints.map(({ parameters }) => parameters).filter((schema) => !Object.hasOwn(schema.shape, 'by'))

const registry = new Registry()
const read = parameter.parameterReader(registry)
type Pairs = readonly (readonly [name: string, value: string])[]
type Asked = {
  readonly value?: Record<string, unknown>
  readonly problem?: string
  readonly ignored?: string | undefined
}

/** What the reader makes of a query: its parameters or its problem, and the value of `Ignored-Parameters` if it is sent. */
function ask(schema: z.ZodObject, pairs: Pairs): Asked {
  let ignored: string | undefined
  const set = (name: string, value: string): void => {
    expect(name).toBe('Ignored-Parameters')
    ignored = value
  }
  const querystring = String(new URLSearchParams(pairs.map(([...pair]) => pair)))
  const ctx = { querystring, set, matched: [{ path: '/api/v1/forms' }] }
  try {
    return { value: read(ctx as unknown as Parameters<ParameterReader>[0], schema), ignored }
  } catch (error) {
    return { problem: (error as Error).message, ignored }
  }
}

const anyText = fc.string({ unit: 'binary' }).map((text) => text.toWellFormed())

test('a problem names a known parameter, a rule and at most 64 characters of what was sent', () => {
  const names = schemas.flatMap((schema) => Object.keys(schema.shape))
  const anyQuery = fc.array(fc.tuple(fc.oneof(fc.constantFrom(...names), anyText), anyText), { maxLength: 5 })
  fc.assert(
    fc.property(fc.constantFrom(...schemas), anyQuery, (schema, pairs) => {
      const { problem } = ask(schema, pairs)
      if (problem === undefined) return
      const [path = ''] = problem.split(' ')
      expect(Object.keys(schema.shape)).toContain(path)
      expect(problem.slice(path.length)).toMatch(/^ must /)
      for (const [name, value] of pairs) if (name === path) expect(problem).toContain([...value].slice(0, 64).join(''))
    }),
  )
})

test('an unknown parameter changes nothing, even if its name is a member of every JavaScript object', () => {
  const name = fc.oneof(anyText, fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty'))
  fc.assert(
    fc.property(fc.constantFrom(...schemas), fc.array(fc.tuple(name, anyText), { maxLength: 5 }), (schema, pairs) => {
      const others = pairs.filter(([each]) => !Object.hasOwn(schema.shape, each))
      expect(ask(schema, others).value).toEqual(ask(schema, []).value)
    }),
  )
})

test('a repeated query is read as before', () => {
  const anyQuery = fc.array(
    fc.tuple(
      fc.oneof(fc.constantFrom('limit', 'page', 'view', 'status'), anyText),
      fc.oneof(fc.constantFrom('2', 'full'), anyText),
    ),
  )
  fc.assert(
    fc.property(fc.constantFrom(...schemas), fc.constantFrom(...schemas), anyQuery, (schema, other, pairs) => {
      const first = ask(schema, pairs)
      ask(other, pairs)
      expect(ask(schema, pairs)).toEqual(first)
    }),
  )
})

test('every known parameter except answers is refused if given twice', () => {
  for (const schema of schemas)
    for (const name of Object.keys(schema.shape).filter((each) => !each.startsWith('answer.'))) {
      const problem = `${name} must be given only once, not as "a" and "b"`
      expect(
        ask(schema, [
          [name, 'a'],
          [name, 'b'],
        ]),
      ).toMatchObject({ problem })
    }
})

test('answers are read by their codes, for any codes in any order', () => {
  const schema = z.object(listSubmissions.parameters.shape)
  const anyCode = fc.oneof(anyText, fc.constantFrom('', '__proto__', 'a.b', '<code>', 'limit'))
  const anyAnswers = fc.array(fc.tuple(anyCode, fc.oneof(anyText, fc.constantFrom('', 'a', 'b'))), { minLength: 1 })
  fc.assert(
    fc.property(anyAnswers, fc.nat(), (sent, seed) => {
      const pairs = sent.map(([code, value]) => [`answer.${code}`, value] as const)
      const { value, ignored } = ask(schema, pairs)
      const codes = [...new Set(sent.map(([code]) => code))].sort()
      const valuesOf = (code: string) =>
        [...new Set(sent.flatMap(([each, text]) => (each === code ? [text] : [])))].sort()
      expect(value?.['answer.<code>']).toEqual(codes.map((code) => [code, valuesOf(code)]))
      expect(ignored).toBeUndefined()
      expect(ask(schema, seeded(seed).shuffled(pairs)).value).toEqual(value)
      const json = JSON.stringify(Object.fromEntries(codes.map((code) => [code, valuesOf(code)])))
      expect(ask(schema, [['answers', json]]).value).toEqual({
        ...value,
        'answer.<code>': undefined,
        answers: value?.['answer.<code>'],
      })
    }),
  )
})

const typed = z.object({
  limit: parameter.pageParameters.limit.optional(),
  number: parameter.anyNumber,
  integer: parameter.safeInteger,
  title: parameter.title,
})

type Typed = keyof z.output<typeof typed>
const given = (name: Typed, texts: string[], asRead: (text: string) => unknown = String) =>
  texts.map((text): [Typed, string, unknown] => [name, text, asRead(text)])

test.each([
  ...given('limit', ['1', '20', '100', '007'], Number),
  ...given('number', ['0', '-0', '7', '-7', '10', '7.5', '-7.25', '1e3', '1E+3', '1.5e-10', '12e12'], Number),
  ...given('integer', ['0', '-7', '10', '9007199254740991', '-9007199254740991']),
  ...given('title', ['', ' a ', 'a'.repeat(200), '🎉'.repeat(200)]),
])('the value %s=%s is accepted', (name, text, value) => {
  expect(ask(typed, [[name, text]]).value?.[name]).toBe(value)
})

test.each<[string, readonly string[]]>([
  ['limit must be an integer from 1 to 100', ['', '0', '101', '1.5', '+1', '-1', ' 1', '1 ', '1e1', 'a1', '1a']],
  [
    'number must be a number within the range of a double, such as 7.5',
    ['', '7.', '.5', '07', '+7', '7,5', ' 7', '7 ', '1e', '1e400', 'Infinity', 'NaN', '0x10', '7a', 'a7'],
  ],
  [
    'integer must be an integer in digits within ±(2^53 − 1), such as 17',
    ['', '07', '1.0', '1e3', '+7', ' 7', '7 ', '9007199254740992', '-9007199254740992', 'a7', '7a'],
  ],
  ['title must be at most 200 characters', ['a'.repeat(201), '🎉'.repeat(201)]],
])('%s', (problem, texts) => {
  const [name = ''] = problem.split(' ')
  for (const text of texts) {
    const shown = text.length > 64 ? `${[...text].slice(0, 64).join('')}…` : text
    expect(ask(typed, [[name, text]]).problem).toBe(`${problem}, not "${shown}"`)
  }
})

test.each(['', '{', '[]', 'null', '"a"', '{"q1":1}', '{"q1":[]}', '{"q1":["a",1]}', '{"q1":"a","q2":1}'])(
  'answers=%s is refused',
  (text) => {
    expect(ask(listSubmissions.parameters, [['answers', text]]).problem).toMatch(/^answers must be a JSON object from/)
  },
)

test('a code or an answer that is too long is named in the message', () => {
  const [longest, long, shown] = ['x'.repeat(256), 'x'.repeat(257), `${'x'.repeat(64)}…`]
  expect(ask(listSubmissions.parameters, [[`answer.${longest}`, longest]]).value?.['answer.<code>']).toEqual([
    [longest, [longest]],
  ])
  expect(ask(listSubmissions.parameters, [[`answer.${long}`, 'a']]).problem).toBe(
    `answer.${shown} must have a code of at most 256 characters`,
  )
  expect(ask(listSubmissions.parameters, [['answer.q 1', long]]).problem).toBe(
    `answer.q 1 must be at most 256 characters, not "${shown}"`,
  )
  expect(ask(listSubmissions.parameters, [['answers', JSON.stringify({ q1: ['a', long] })]]).problem).toBe(
    `answers must be at most 256 characters, not "${shown}"`,
  )
  expect(ask(listSubmissions.parameters, [['answers', JSON.stringify({ [long]: 'a' })]]).problem).toBe(
    'answers must have a code of at most 256 characters',
  )
})

test('ignored parameters are counted by route', async () => {
  const counted = async () => {
    const { values = [] } = (await registry.getSingleMetric('tidemark_http_ignored_parameters_total')?.get()) ?? {}
    return values.map(({ labels, value }) => [labels['route'], value])
  }
  const [[route, before] = []] = await counted()
  ask(typed, [['limit', '1']])
  ask(typed, [
    ['a', ''],
    ['b', ''],
  ])
  expect([route, await counted()]).toEqual(['/api/v1/forms', [[route, Number(before) + 2]]])
})

test('a value of sixty-four characters is quoted completely', () => {
  const text = 'x'.repeat(64)
  expect(ask(typed, [['limit', text]]).problem).toMatch(new RegExp(`, not "${text}"$`))
})

describe('Ignored-Parameters', () => {
  const ignored = (...names: string[]): string =>
    ask(
      z.object({}),
      names.map((name) => [name, '']),
    ).ignored ?? ''

  test('names the first ten that fit', () => {
    expect(ignored('a b', 'é', ',')).toBe('a%20b, %C3%A9, %2C')
    expect(ignored(...'abcdefghijk')).toBe('a, b, c, d, e, f, g, h, i, j')
    const [fitting, long] = ['a'.repeat(256), 'a'.repeat(257)]
    expect([ignored(fitting), ignored(long), ignored(long, 'b')]).toEqual([fitting, fitting, fitting])
    const [first, second] = ['a'.repeat(250), 'bbbb']
    expect([ignored(first, second), ignored(first, `${second}b`)]).toEqual([`${first}, ${second}`, first])
  })

  test('is ASCII of at most 256 bytes and 10 names, each the beginning of a sent name', () => {
    const anyName = fc.string({ unit: 'binary', maxLength: 400 }).map((text) => text.toWellFormed())
    fc.assert(
      fc.property(fc.uniqueArray(anyName, { minLength: 1, maxLength: 15 }), (names) => {
        const value = ignored(...names)
        expect(value).toMatch(/^[\x20-\x7e]{0,256}$/)
        const shown = value.split(', ').map(decodeURIComponent)
        expect(shown.length).toBeLessThanOrEqual(10)
        expect(shown.every((name, at) => names[at]?.startsWith(name))).toBe(true)
      }),
    )
  })
})

test('every time zone of Node is accepted, in any letter case, also with a space for its plus', () => {
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    expect(parameter.parseTimeZone(zone)).toBe(zone)
    expect(parameter.parseTimeZone(zone.toLowerCase().replace('+', ' '))).toBe(zone)
  }
})

test.each([
  ['Asia/Kolkata', 'Asia/Calcutta'],
  ['US/Pacific', 'America/Los_Angeles'],
  ['GB', 'Europe/London'],
  ['GMT', 'UTC'],
])('the time zone %s is another name of %s', (name, zone) => {
  expect(parameter.parseTimeZone(name)).toBe(zone)
})

test.each([
  ...['', 'Z', '+02:00', '-0200', '02:00', 'UTC+2', 'GMT+2', 'PST', 'IST'],
  ...['Europe', 'Europe/', ' UTC', 'UTC\0', 'Etc/Unknown'],
])('%p is no time zone', (text) => {
  expect(parameter.parseTimeZone(text)).toBeUndefined()
})

test.each([
  [1_000, true],
  [1_100, false],
])('the parameters of a query of about %i characters are cached: %p', (characters, isKept) => {
  const [one, other] = Array.from({ length: 2 }, () => ask(getForm.parameters, [['x', 'y'.repeat(characters)]]).value)
  expect(one === other).toBe(isKept)
})
