import fc from 'fast-check'
import { Registry } from 'prom-client'
import { z } from 'zod'
import type { ParameterReader } from '../../../src/api/context.ts'
import { getFormParameters, listFormsParameters } from '../../../src/api/forms.ts'
import { parameterReader } from '../../../src/api/parameters.ts'
import { getSubmissionParameters, listSubmissionsParameters } from '../../../src/api/submissions.ts'

const schemas: readonly z.ZodObject[] = [
  listFormsParameters,
  getFormParameters,
  listSubmissionsParameters,
  getSubmissionParameters,
]

const read = parameterReader(new Registry())
type Context = Parameters<ParameterReader>[0]

/** What the reader answers to a query: the parameters, or its problem. */
function readParameters(schema: z.ZodObject, sent: URLSearchParams) {
  const ctx = { querystring: String(sent), set: () => undefined } as unknown as Context
  try {
    return { ok: true as const, value: read(ctx, schema) }
  } catch (error) {
    const [path = '', ...rule] = (error as Error).message.split(' ')
    return { ok: false as const, problem: { path, rule: rule.join(' ') } }
  }
}

/** The value of `Ignored-Parameters` for these names. */
function renderIgnored(names: readonly string[]): string {
  let header = ''
  const set = (_name: string, value: string): void => {
    header = value
  }
  read({ querystring: String(query(names.map((name) => [name, '']))), set } as unknown as Context, z.object({}))
  return header
}

const query = (pairs: [string, string][]): URLSearchParams => new URLSearchParams(pairs)
const anyText = fc.string({ unit: 'binary' }).map((text) => text.toWellFormed())

describe('parameters', () => {
  test('gives the defaults for no parameters', () => {
    const value = { limit: 20, page: 1, view: 'summary', includeDeleted: false }
    expect(readParameters(listFormsParameters, query([]))).toEqual({ ok: true, value })
    expect(readParameters(listSubmissionsParameters, query([]))).toEqual({ ok: true, value })
    expect(readParameters(getFormParameters, query([]))).toEqual({
      ok: true,
      value: { includeFields: true, includeReport: true },
    })
    expect(readParameters(getSubmissionParameters, query([]))).toEqual({ ok: true, value: {} })
  })

  test('takes every limit from 1 to 100 and every page to 2^53 - 1', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.maxSafeInteger().map(Math.abs), (limit, distance) => {
        const page = Math.max(1, distance)
        const answer = readParameters(
          listSubmissionsParameters,
          query([
            ['limit', String(limit)],
            ['page', String(page)],
          ]),
        )
        expect(answer).toMatchObject({ ok: true, value: { limit, page } })
      }),
    )
  })

  test('refuses every other number and text', () => {
    const other = fc.oneof(
      fc.integer({ max: 0 }).map(String),
      fc.double({ noInteger: true }).map(String),
      fc.bigInt({ min: 2n ** 53n }).map(String),
      anyText.filter((text) => !/^\d+$/.test(text)),
    )
    fc.assert(
      fc.property(other, fc.integer({ min: 101 }), (sent, many) => {
        for (const [name, value] of [
          ['limit', sent],
          ['page', sent],
          ['limit', String(many)],
        ] as const)
          expect(readParameters(listFormsParameters, query([[name, value]])).ok).toBe(false)
      }),
    )
  })

  test('reads booleans in any letter case', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }), (value, upper) => {
        const sent = [...String(value)].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter)).join('')
        const answer = readParameters(getFormParameters, query([['includeFields', sent]]))
        expect(answer).toEqual({ ok: true, value: { includeFields: value, includeReport: true } })
      }),
    )
  })

  test('never throws, and a problem names a known parameter, a rule and at most 64 characters of what was sent', () => {
    const names = schemas.flatMap((schema) => Object.keys(schema.shape))
    const anyQuery = fc.array(fc.tuple(fc.oneof(fc.constantFrom(...names), anyText), anyText), { maxLength: 5 })
    fc.assert(
      fc.property(fc.constantFrom(...schemas), anyQuery, (schema, pairs) => {
        const answer = readParameters(schema, query(pairs))
        if (answer.ok) return
        expect(Object.keys(schema.shape)).toContain(answer.problem.path)
        const values = pairs.filter(([name]) => name === answer.problem.path).map(([, value]) => value)
        const shown = values.map((value) => [...value].slice(0, 64).join(''))
        expect(answer.problem.rule).toMatch(/^must /)
        expect(shown.every((value) => answer.problem.rule.includes(value))).toBe(true)
      }),
    )
  })

  test('unknown parameters change nothing', () => {
    const unknown = fc.array(fc.tuple(anyText, anyText), { maxLength: 5 })
    fc.assert(
      fc.property(fc.constantFrom(...schemas), unknown, (schema, pairs) => {
        const others = pairs.filter(([name]) => !Object.hasOwn(schema.shape, name))
        expect(readParameters(schema, query(others))).toEqual(readParameters(schema, query([])))
      }),
    )
  })

  test('names that every object has are unknown like any other', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
      expect(readParameters(getSubmissionParameters, query([[name, 'x']]))).toEqual({ ok: true, value: {} })
  })

  test('every known parameter given twice is refused', () => {
    for (const schema of schemas)
      for (const name of Object.keys(schema.shape))
        expect(
          readParameters(
            schema,
            query([
              [name, 'a'],
              [name, 'b'],
            ]),
          ),
        ).toEqual({ ok: false, problem: { path: name, rule: 'must be given only once, not as "a" and "b"' } })
  })
})

test('every schema can be described as JSON schema', () => {
  for (const schema of schemas) expect(z.toJSONSchema(schema, { io: 'input' })).toMatchObject({ type: 'object' })
})

const anyName = fc.string({ unit: 'binary', maxLength: 400 }).map((text) => text.toWellFormed())

describe('Ignored-Parameters', () => {
  test('names the first ten that fit', () => {
    expect(renderIgnored(['Limit'])).toBe('Limit')
    expect(renderIgnored(['a b', 'é', ','])).toBe('a%20b, %C3%A9, %2C')
    expect(renderIgnored([...'abcdefghijk'])).toBe('a, b, c, d, e, f, g, h, i, j')
  })

  test('is ASCII of at most 256 bytes and 10 names, each a beginning of what was sent', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyName, { minLength: 1, maxLength: 15 }), (names) => {
        const value = renderIgnored(names)
        expect(value).toMatch(/^[\x20-\x7e]{0,256}$/)
        const shown = value.split(', ').map(decodeURIComponent)
        expect(shown.length).toBeLessThanOrEqual(10)
        expect(shown.every((name, at) => names[at]?.startsWith(name))).toBe(true)
      }),
    )
  })
})
