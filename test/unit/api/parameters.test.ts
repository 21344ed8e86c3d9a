import fc from 'fast-check'
import { Registry } from 'prom-client'
import { z } from 'zod'
import type { ParameterReader } from '../../../src/api/context.ts'
import { getForm } from '../../../src/api/forms.ts'
import { parameterReader, parseTimeZone } from '../../../src/api/parameters.ts'
import { endpoints } from '../../../src/api/routes.ts'
import { listSubmissions } from '../../../src/api/submissions.ts'
import { seeded } from '../../support/random.ts'

const schemas = endpoints.map(({ parameters }) => parameters).filter((schema) => !Object.hasOwn(schema.shape, 'by'))

const read = parameterReader(new Registry())
type Pairs = readonly (readonly [name: string, value: string])[]
type Asked = { readonly value?: Record<string, unknown>; readonly problem?: string; readonly ignored: string }

/** What the reader makes of a query: its parameters or its problem, and the value of `Ignored-Parameters`. */
function ask(schema: z.ZodObject, pairs: Pairs): Asked {
  let ignored = ''
  const set = (_name: string, value: string): void => {
    ignored = value
  }
  const ctx = { querystring: String(new URLSearchParams(pairs.map(([...pair]) => pair))), set }
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

test('unknown parameters change nothing, such as names that every object has', () => {
  const name = fc.oneof(anyText, fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty'))
  fc.assert(
    fc.property(fc.constantFrom(...schemas), fc.array(fc.tuple(name, anyText), { maxLength: 5 }), (schema, pairs) => {
      const others = pairs.filter(([each]) => !Object.hasOwn(schema.shape, each))
      expect(ask(schema, others).value).toEqual(ask(schema, []).value)
    }),
  )
})

test('a query that comes again is read as before', () => {
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

test('every known parameter given twice is refused, but for answers', () => {
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

test('answers are read by their codes, whatever these are, in whatever order they are sent', () => {
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
      expect(ignored).toBe('')
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

test('a code and an answer that are too long are named', () => {
  const [long, shown] = ['x'.repeat(257), `${'x'.repeat(64)}…`]
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

describe('Ignored-Parameters', () => {
  const ignored = (...names: string[]): string =>
    ask(
      z.object({}),
      names.map((name) => [name, '']),
    ).ignored

  test('names the first ten that fit', () => {
    expect(ignored('a b', 'é', ',')).toBe('a%20b, %C3%A9, %2C')
    expect(ignored(...'abcdefghijk')).toBe('a, b, c, d, e, f, g, h, i, j')
  })

  test('is ASCII of at most 256 bytes and 10 names, each a beginning of what was sent', () => {
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

test('every zone that this process lists is read, in any letter case, also with spaces for its plus', () => {
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    expect(parseTimeZone(zone)).toBe(zone)
    expect(parseTimeZone(zone.toLowerCase().replace('+', ' '))).toBe(zone)
  }
})

test.each([
  ['Asia/Kolkata', 'Asia/Calcutta'],
  ['US/Pacific', 'America/Los_Angeles'],
  ['GB', 'Europe/London'],
  ['GMT', 'UTC'],
])('%s is another name of %s', (name, zone) => {
  expect(parseTimeZone(name)).toBe(zone)
})

test.each([
  ...['', 'Z', '+02:00', '-0200', '02:00', 'UTC+2', 'GMT+2', 'PST', 'IST'],
  ...['Europe', 'Europe/', ' UTC', 'UTC\0', 'Etc/Unknown'],
])('%p is no name', (text) => {
  expect(parseTimeZone(text)).toBeUndefined()
})

test.each([
  [1_000, true],
  [1_100, false],
])('what was read from a query of about %i characters is kept: %p', (characters, isKept) => {
  const [one, other] = Array.from({ length: 2 }, () => ask(getForm.parameters, [['x', 'y'.repeat(characters)]]).value)
  expect(one === other).toBe(isKept)
})
