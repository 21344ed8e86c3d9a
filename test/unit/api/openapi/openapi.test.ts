import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { z } from 'zod'
import type { RouteDeps } from '../../../../src/api/context.ts'
import { selectedFields } from '../../../../src/api/fields.ts'
import { describeApi } from '../../../../src/api/openapi/openapi.ts'
import { endpoints, routes } from '../../../../src/api/routes.ts'
import * as forms from '../../../../src/core/model/form.ts'
import { attempt } from '../../../../src/core/model/schema.ts'
import * as submissions from '../../../../src/core/model/submission.ts'
import { valueProblems } from '../../../support/acceptedQueries.ts'
import { pointer, schemaJudge } from '../../../support/description.ts'
import { documentedTypes } from '../../../support/documentedTypes.ts'
import { formEntity, submissionEntity } from '../../../support/entities.ts'
import { changedAt, pathsIn } from '../../../support/jsonPaths.ts'
import { servedForm, servedFormSummary, servedSubmission, servedSubmissionSummary } from '../../../support/served.ts'

type Bounds = { minimum?: number; maximum?: number }
type Schema = Bounds & { type?: string; enum?: unknown[]; examples?: unknown[]; default?: unknown }
type Parameter = { name: string; in: string; required: boolean; schema: Schema; example?: unknown; description: string }
type Media = { schema: object; examples: Record<string, { value: unknown }> }
type Response = { $ref?: string; headers?: Record<string, unknown>; content?: Record<string, Media> }
type Description = {
  paths: Record<string, { get: { operationId: string; parameters: Parameter[]; responses: Record<string, Response> } }>
  components: {
    schemas: Record<string, { properties: Record<string, unknown>; required: string[] }>
    responses: Record<string, Response>
    headers: Record<string, { schema: object; example: unknown }>
  }
}

/** The description as its readers get it. */
const described = JSON.parse(JSON.stringify(describeApi('/api/v1'))) as Description
const judge = schemaJudge(described)

const schemas = Object.fromEntries(endpoints.map((each) => [each.path.replace(':id', '{id}'), each.parameters]))
/** What has to be sent beside any other parameter. */
const needed = (path: string): object => (path === '/record-counts' ? { by: 'day' } : {})
const paths = Object.keys(schemas)
const wholeSubmission = {
  ...servedSubmissionSummary(submissionEntity({ id: 'x' })),
  ...servedSubmission(submissionEntity({ id: 'x' })),
}
/** What a row of a change feed has besides the members of its item. */
const changedRow = { changedAt: '2026-11-28T08:30:00.000Z', deleted: false }
const ofRows = Object.keys(changedRow)
const isNumber = (text: string): boolean => text.trim() !== '' && Number.isFinite(Number(text))
const succeeds = (run: () => unknown): boolean => attempt(() => [run()]) !== undefined
const query = (path: string): Parameter[] =>
  described.paths[path]?.get.parameters.filter((parameter) => parameter.in === 'query') ?? []

test('the description is valid OpenAPI 3.1', async () => {
  expect(await new Validator().validate(JSON.parse(JSON.stringify(described)))).toEqual({ valid: true })
  expect(described).toMatchObject({ openapi: expect.stringMatching(/^3\.1\./) })
})

test('the description has every route, and no other', () => {
  const stated = (path: string): string => path.replace('/api/v1', '').replaceAll(/:(\w+)/g, '{$1}')
  const routed = routes({} as RouteDeps).stack.map(({ path }) => stated(String(path)))
  expect(Object.keys(described.paths)).toEqual(routed)
})

describe.each(paths)('the parameters of %s', (path) => {
  const schema = schemas[path] ?? z.object({})

  test('are those that the API reads, each with a description', () => {
    const names = Object.keys(schema.shape).filter((name) => name !== 'answer.<code>')
    expect(query(path).map(({ name }) => name)).toEqual(names)
    for (const { name, description, required } of query(path)) {
      expect(description).toMatch(/\w.*\.$/)
      expect(required).toBe(name in needed(path))
    }
  })

  test('have the defaults that requests get', () => {
    const defaults = query(path).flatMap(({ name, schema }) => ('default' in schema ? [[name, schema.default]] : []))
    const read = z.object(schema.shape).parse(needed(path))
    const given = Object.entries(read).filter(([, value]) => value !== undefined)
    expect(Object.fromEntries(given)).toEqual({ ...needed(path), ...Object.fromEntries(defaults) })
  })

  // Counts by answers need the code of a field.
  const isRead = (name: string, value: unknown): boolean =>
    [{}, { code: 'q1' }, { by: 'answer' }].some(
      (beside) => schema.safeParse({ ...needed(path), ...beside, [name]: String(value) }).success,
    )

  test('have bounds, values and examples that requests may send', () => {
    for (const { name, schema } of query(path)) {
      const { minimum, maximum, enum: values = [], examples = [] } = schema
      const sendable = [minimum, maximum, ...values, ...examples].filter((value) => value !== undefined)
      expect(sendable.filter((value) => !isRead(name, value))).toEqual([])
    }
  })

  /** Whose values are names of fields or of time zones, or JSON: a schema does not say which are accepted. */
  const cannotSay = ['timeZone', 'answers', 'fields']
  const texts = fc.oneof(
    fc.constantFrom(
      ...['', '0', '1', '-1', '+1', '007', '1.5', '1e1', '.5', '100', '101', '1e400', '9007199254740992'],
    ),
    fc.constantFrom(
      ...['99999999999999999999', 'TRUE', 'False', 'yes', 'full', 'day', 'day,level', 'level,day', 'failed'],
    ),
    fc.constantFrom(...['2026-11-21', '2026-02-30', '2024-02-29', '2026-11-21T08:30:00.1234Z', '2026-11-21T08:30 01']),
    fc.constantFrom(...['{}', '{"q1":"a"}', '{"q1":1}', 'Europe/Berlin', '\ud83d\ude00'.repeat(200)]),
    fc.string({ maxLength: 300 }),
  )

  test('are valid by the description if the API accepts them, and invalid if not, where a schema can express that', () => {
    const names = fc.constantFrom(...query(path).map(({ name }) => name))
    fc.assert(
      fc.property(names, texts, (name, text) => {
        const isValid = valueProblems(path, name, text).length === 0
        const isAccepted = isRead(name, text)
        if (isAccepted && name !== 'fields') expect({ name, text, isValid }).toEqual({ name, text, isValid: true })
        // It counts characters, not UTF-16 units, and says nothing of how numbers are spelt.
        const isUnsaid = cannotSay.includes(name) || [...text].length < text.length || isNumber(text)
        if (!isAccepted && !isUnsaid) expect({ name, text, isValid }).toEqual({ name, text, isValid: false })
      }),
      { numRuns: 3_000 },
    )
  })

  test('are refused beyond their bounds and values', () => {
    for (const { name, schema } of query(path)) {
      const { minimum, maximum, enum: values, type } = schema
      const beyond: unknown[] = []
      if (minimum !== undefined) beyond.push(minimum - 1)
      if (maximum !== undefined) beyond.push(maximum + 1)
      if (values !== undefined || type === 'boolean') beyond.push('another')
      expect(beyond.filter((value) => isRead(name, value))).toEqual([])
    }
  })
})

test.each([
  ['/forms', [forms.servedFormSummary, forms.servedForm], servedForm(formEntity({ id: 'x' }))],
  ['/forms/{id}', [forms.servedForm], servedForm(formEntity({ id: 'x' }))],
  ['/records', [submissions.servedSubmissionSummary, submissions.servedSubmission], wholeSubmission],
  ['/records/{id}', [submissions.servedSubmission], wholeSubmission],
  [
    '/form-changes',
    [ofRows, forms.servedFormSummary, forms.servedForm],
    { ...changedRow, ...servedForm(formEntity({ id: 'x' })) },
  ],
  [
    '/record-changes',
    [ofRows, submissions.servedSubmissionSummary, submissions.servedSubmission],
    { ...changedRow, ...wholeSubmission },
  ],
] as const)('`fields` of %s may name every member of any view, and nothing else', (path, views, item) => {
  const names = pathsIn(item).map((place) => place.join('.'))
  const isRead = (name: string): boolean => views.some((view) => succeeds(() => selectedFields(name, view)))
  const isValid = (name: string): boolean => valueProblems(path, 'fields', name).length === 0
  expect(names.filter(isValid)).toEqual(names.filter(isRead))
  expect(names.filter(isRead).length).toBeGreaterThan(10)
})

describe('answers', () => {
  const form = formEntity({ id: 'f1' })
  const submission = submissionEntity({ id: 's1' })
  test.each([
    ['FormSummary', documentedTypes.formSummary, servedFormSummary(form)],
    ['Form', documentedTypes.form, servedForm(form)],
    ['SubmissionSummary', documentedTypes.submissionSummary, servedSubmissionSummary(submission)],
    ['Submission', documentedTypes.submission, servedSubmission(submission)],
  ])('of %s have the specified types at every place', (name, documented, served) => {
    // `fields` leaves out members.
    const optional = JSON.parse(JSON.stringify(documented), (key, value) => (key === 'required' ? undefined : value))
    const isDocumented = new Ajv2020().compile(optional)
    const samples = [null, true, 1.5, 7, 'x', 'completed', '2026-04-01T12:00:00.000Z', [], {}]
    for (const place of pathsIn(served)) {
      const answers = samples.map((sample) => changedAt(served, place, sample))
      const at = pointer('components', 'schemas', name)
      const accepted = answers.map((answer) => judge.problems(at, answer).length === 0)
      expect({ place, accepted }).toEqual({ place, accepted: answers.map((answer) => isDocumented(answer)) })
    }
  })

  test.each([
    ['FormChange', { ...servedForm(form), ...servedFormSummary(form) }],
    ['SubmissionChange', wholeSubmission],
  ])('of change feeds have rows (%s) with the members of both views, or of deletions', (name, item) => {
    const at = pointer('components', 'schemas', name)
    expect(judge.problems(at, { ...item, ...changedRow })).toEqual([])
    expect(judge.problems(at, { id: 'x', ...changedRow, deleted: true })).toEqual([])
    for (const wrong of [{ deleted: 'no' }, { changedAt: 1 }, { id: 1 }])
      expect(judge.problems(at, { ...item, ...changedRow, ...wrong })).not.toEqual([])
    const { properties } = described.components.schemas[name] ?? {}
    expect(Object.keys(properties ?? {}).sort()).toEqual(Object.keys({ ...item, ...changedRow }).sort())
  })

  test.each(paths)('of %s have every status, with its code and an example that its schema accepts', (path) => {
    const responses: Record<string, Response> = described.paths[path]?.get.responses ?? {}
    const codes = Object.entries(responses).map(([status, { $ref = '' }]) => `${status} ${$ref.split('/').at(-1)}`)
    const isFeed = path.endsWith('-changes')
    expect(codes).toEqual([
      ...['200 ', ...(isFeed ? [] : ['304 ']), '400 bad_request', '401 unauthorized'],
      ...(path.endsWith('{id}') ? ['404 not_found'] : []),
      ...['405 method_not_allowed', '408 request_timeout', ...(isFeed ? ['410 cursor_expired'] : [])],
      ...['414 uri_too_long', '429 rate_limited'],
      ...['431 headers_too_long', '500 internal_error', '503 service_unavailable'],
    ])
    const at = ['paths', path, 'get', 'responses', '200', 'content', 'application/json'] as const
    const media = responses['200']?.content?.['application/json']
    for (const { value } of Object.values(media?.examples ?? {}))
      expect(judge.problems(pointer(...at, 'schema'), value)).toEqual([])
    expect(judge.problems(pointer(...at, 'schema'), [])).not.toEqual([])
  })

  test.each(Object.keys(described.components.responses))('%s has an example that its schema accepts', (code) => {
    const media = described.components.responses[code]?.content?.['application/json']
    const at = pointer('components', 'responses', code, 'content', 'application/json', 'schema')
    expect(media?.examples['example']?.value).toMatchObject({ error: { code } })
    expect(judge.problems(at, media?.examples['example']?.value)).toEqual([])
    expect(judge.problems(at, { error: { code: 'another', message: '' } })).not.toEqual([])
  })

  test.each(Object.keys(described.components.headers))('header %s has an example that its schema accepts', (name) => {
    const { example } = described.components.headers[name] ?? {}
    expect(judge.problems(pointer('components', 'headers', name, 'schema'), example)).toEqual([])
  })
})
