import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { z } from 'zod'
import type { RouteDeps } from '../../../../src/api/context.ts'
import { describeApi } from '../../../../src/api/openapi/openapi.ts'
import { endpoints, routes } from '../../../../src/api/routes.ts'
import { pointer, schemaJudge } from '../../../support/description.ts'
import { documentedTypes } from '../../../support/documentedTypes.ts'
import { formEntity, submissionEntity } from '../../../support/entities.ts'
import { changedAt, placesIn } from '../../../support/places.ts'
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
const query = (path: string): Parameter[] =>
  described.paths[path]?.get.parameters.filter((parameter) => parameter.in === 'query') ?? []

test('the description is valid OpenAPI 3.1', async () => {
  expect(await new Validator().validate(JSON.parse(JSON.stringify(described)))).toEqual({ valid: true })
  expect(described).toMatchObject({ openapi: expect.stringMatching(/^3\.1\./) })
})

test('the description tells of every route there is, and of no other', () => {
  const stated = (path: string): string => path.replace('/api/v1', '').replaceAll(/:(\w+)/g, '{$1}')
  const routed = routes({} as RouteDeps).stack.map(({ path }) => stated(String(path)))
  expect(Object.keys(described.paths)).toEqual(routed)
})

describe.each(paths)('the parameters of %s', (path) => {
  const schema = schemas[path] ?? z.object({})

  test('are those that requests are judged by, each with a description', () => {
    expect(query(path).map(({ name }) => name)).toEqual(Object.keys(schema.shape))
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
    [{}, { code: 'q1' }].some(
      (beside) => schema.safeParse({ ...needed(path), ...beside, [name]: String(value) }).success,
    )

  test('have bounds, values and examples that requests may send', () => {
    for (const { name, schema } of query(path)) {
      const { minimum, maximum, enum: values = [], examples = [] } = schema
      const sendable = [minimum, maximum, ...values, ...examples].filter((value) => value !== undefined)
      expect(sendable.filter((value) => !isRead(name, value))).toEqual([])
    }
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

describe('answers', () => {
  const form = formEntity({ id: 'f1' })
  const submission = submissionEntity({ id: 's1' })
  test.each([
    ['FormSummary', documentedTypes.formSummary, servedFormSummary(form)],
    ['Form', documentedTypes.form, servedForm(form)],
    ['SubmissionSummary', documentedTypes.submissionSummary, servedSubmissionSummary(submission)],
    ['Submission', documentedTypes.submission, servedSubmission(submission)],
  ])('of %s have the types that the specification tells, at every place', (name, documented, served) => {
    const isDocumented = new Ajv2020().compile(documented)
    const samples = [null, true, 1.5, 7, 'x', 'completed', '2026-04-01T12:00:00.000Z', [], {}]
    for (const place of placesIn(served)) {
      const answers = samples.map((sample) => changedAt(served, place, sample))
      const at = pointer('components', 'schemas', name)
      const accepted = answers.map((answer) => judge.problems(at, answer).length === 0)
      expect({ place, accepted }).toEqual({ place, accepted: answers.map((answer) => isDocumented(answer)) })
    }
  })

  test.each(paths)('of %s have every status, with its code and an example that its schema accepts', (path) => {
    const responses: Record<string, Response> = described.paths[path]?.get.responses ?? {}
    const codes = Object.entries(responses).map(([status, { $ref = '' }]) => `${status} ${$ref.split('/').at(-1)}`)
    expect(codes).toEqual([
      ...['200 ', '304 ', '400 bad_request', '401 unauthorized', ...(path.endsWith('{id}') ? ['404 not_found'] : [])],
      ...['405 method_not_allowed', '408 request_timeout', '414 uri_too_long', '429 rate_limited'],
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
