import { Registry } from 'prom-client'
import type { z } from 'zod'
import type { ParameterReader } from '../../../src/api/context.ts'
import { selectedFields } from '../../../src/api/fields.ts'
import { parameterReader } from '../../../src/api/parameters.ts'
import { endpoints } from '../../../src/api/routes.ts'
import { pageLinks } from '../../../src/api/search/searchPage.ts'
import { preferredWaitSeconds } from '../../../src/api/waiting.ts'
import { servedSubmission } from '../../../src/core/model/submission.ts'
import { growthOf, mostGrowth } from '../../support/growth.ts'

const read = parameterReader(new Registry())

/** Runs work that may refuse its input. */
function tried(work: () => unknown): void {
  try {
    work()
  } catch (error) {
    if ((error as { status?: unknown }).status !== 400) throw error
  }
}

function ask(schema: z.ZodObject, querystring: string): void {
  const ctx = { querystring, set: () => undefined } as unknown as Parameters<ParameterReader>[0]
  tried(() => read(ctx, schema))
}

/** Text of so many characters, made of parts that may differ by their number. */
function repeated(length: number, part: (at: string) => string): string {
  let text = ''
  for (let at = 0; text.length < length; at++) text += part(at.toString(36))
  return text
}

type Inputs = Readonly<Record<string, (length: number) => string>>

const ofMany = (parts: readonly string[]): Inputs =>
  Object.fromEntries(parts.map((part) => [`many ${part}`, (length: number) => repeated(length, () => part)]))

const queries: Inputs = {
  ...ofMany([
    '&',
    '=',
    '%',
    '+',
    '%00',
    '%ff',
    '?',
    '&x',
    '&limit',
    '&answer.q',
    '&__proto__',
    '%F0%9F%98%80',
    'x',
    'answer.',
  ]),
  'names that nobody knows': (length) => repeated(length, (at) => `${at}&`),
  'answers to many codes': (length) => repeated(length, (at) => `answer.${at}=&`),
  'many answers to one code': (length) => repeated(length, (at) => `answer.q=${at}&`),
  'answers in JSON': (length) => `answers={${repeated(length, (at) => `"${at}":["a","b"],`)}"x":"y"}`,
  'many answers to two codes': (length) => repeated(length, (at) => `answer.q=${at}&answer.r&`),
  'answers to many codes in JSON': (length) => `answers={${repeated(length, (at) => `"${at}":"",`)}"":""}`,
  'many answers to one code in JSON': (length) => `answers={"q":[${repeated(length, (at) => `"${at}",`)}""]}`,
  'nested JSON': (length) => `answers=${repeated(length, () => '{"":[')}`,
  'codes that are too long': (length) => repeated(length, (at) => `answer.${at.repeat(300)}&`),
}
const values = ofMany([
  '1',
  '-',
  'a',
  'a-',
  ',',
  'data.a,',
  '/',
  '%20',
  'a%20',
  '%CC%88',
  'e%CC%88',
  '%E3%81%8B',
  '9',
  '0',
  '.',
  'e1',
])

const lists = endpoints.filter(({ path }) => !path.includes(':'))
/** Longer than a URL may be. */
const length = 8 * 1024

/** Which inputs cost more than their length explains. */
const dearAmong = (inputs: Inputs, work: (input: string) => unknown): string[] =>
  Object.entries(inputs).flatMap(([name, inputOf]) => {
    const growth = growthOf((of) => {
      const input = inputOf(of)
      return () => work(input)
    }, length)
    return growth > mostGrowth ? [`${name}: ${growth.toFixed(1)}`] : []
  })

test.each(lists)('the cost of a query of $path grows linearly with its length', ({ parameters }) => {
  expect(dearAmong(queries, (query) => ask(parameters, query))).toEqual([])
})

test.each(lists)('the cost of each parameter of $path grows linearly with its value', ({ parameters }) => {
  for (const name of Object.keys(parameters.shape))
    expect([name, dearAmong(values, (value) => ask(parameters, `${name}=${value}`))]).toEqual([name, []])
})

test('the cost of fields, links and preferences grows linearly with their length', () => {
  const someFields: Inputs = { ...values, 'many answers': (of) => repeated(of, (at) => `data.${at},`) }
  expect(dearAmong(someFields, (fields) => tried(() => selectedFields(fields, servedSubmission)))).toEqual([])
  expect(dearAmong(queries, (query) => pageLinks('/forms', query, { page: 2, limit: 20 }, 1_000))).toEqual([])
  const preferences = ofMany(['wait', 'wait=', 'wait=1,', 'a="', '"', '\\"', ',', ' ', ';', '='])
  expect(dearAmong(preferences, preferredWaitSeconds)).toEqual([])
})
