import { LRUCache } from 'lru-cache'
import type { Registry } from 'prom-client'
import { z } from 'zod'
import { routeOf } from '../core/http/requestLog.ts'
import { maxValueCharacters } from '../core/model/answers.ts'
import { parseWindowBound, windowBoundPattern, windowBoundRule } from '../core/model/instant.ts'
import { attempt, isObject, parsed } from '../core/model/schema.ts'
import { metricsIn } from '../core/monitoring/metrics.ts'
import type { ParameterReader } from './context.ts'
import { apiError } from './errors.ts'

const maxShownCharacters = 64
const maxIgnoredNames = 10
const maxIgnoredBytes = 256

/** Of parsed queries, for each schema. */
const maxCached = 200
const maxCachedCharacters = 1_024

/** `parameters` are frozen, because requests share them. */
type ParsedQuery = { readonly ignoredNames: readonly string[] } & (
  | { readonly kind: 'valid'; readonly parameters: object }
  | { readonly kind: 'invalid'; readonly problem: string }
)
type ParseQuery = (querystring: string) => ParsedQuery

/** Caches the latest queries, because dashboards repeat them. */
export function parameterReader(registry: Registry): ParameterReader {
  const help = 'Unknown query parameters, which are ignored'
  const ignoredTotal = metricsIn(registry).counter('tidemark_http_ignored_parameters_total', help, ['route'])
  const parsers = new WeakMap<z.ZodObject, ParseQuery>()
  return (ctx, schema) => {
    const parse = parsers.get(schema) ?? cachingLatest(queryParser(schema))
    parsers.set(schema, parse)
    const query = parse(ctx.querystring)
    if (query.ignoredNames.length > 0) {
      ignoredTotal.inc({ route: routeOf(ctx) ?? '' }, query.ignoredNames.length)
      ctx.set('Ignored-Parameters', renderIgnored(query.ignoredNames))
    }
    if (query.kind === 'invalid') throw apiError('bad_request', query.problem)
    return query.parameters as z.output<typeof schema>
  }
}

function cachingLatest(parse: ParseQuery): ParseQuery {
  const latest = new LRUCache<string, ParsedQuery>({ max: maxCached, memoMethod: parse })
  return (querystring) => (querystring.length <= maxCachedCharacters ? latest.memo(querystring) : parse(querystring))
}

/** Ends the name of a parameter for any code of a form field: `answer.<code>` stands for `answer.q1`. Only such parameters may be repeated. */
export const anyCode = '<code>'

/** What a sent name stands for. `name`: that in the schema, such as `answer.<code>`. */
type ParameterName =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'fixed' }
  | { readonly kind: 'with-code'; readonly name: string; readonly code: string }

function queryParser(schema: z.ZodObject): ParseQuery {
  const names = new Set(Object.keys(schema.shape))
  const namesWithCode = [...names].filter((name) => name.endsWith(anyCode))
  const parameterNamed = (sentName: string): ParameterName => {
    const name = namesWithCode.find((nameWithCode) => sentName.startsWith(beginningOf(nameWithCode)))
    if (name !== undefined) return { kind: 'with-code', name, code: sentName.slice(beginningOf(name).length) }
    return { kind: names.has(sentName) ? 'fixed' : 'unknown' }
  }
  return (querystring) => {
    // URLSearchParams strips one leading question mark, which may belong to the query itself.
    const query = Map.groupBy(new URLSearchParams(`?${querystring}`), ([name]) => name)
    const sentValues: Record<string, unknown> = {}
    /** Of the only parameter with a code, `answer.<code>`. */
    const valuesByCode: [code: string, values: string[]][] = []
    const ignoredNames: string[] = []
    let repetitionProblem: string | undefined
    for (const [name, pairs] of query) {
      const values = pairs.map(([, value]) => value)
      const parameter = parameterNamed(name)
      if (parameter.kind === 'unknown') ignoredNames.push(name)
      else if (parameter.kind === 'with-code') {
        valuesByCode.push([parameter.code, values])
        sentValues[parameter.name] = valuesByCode
      } else if (values.length > 1)
        repetitionProblem ??= `${name} must be given only once, not as ${values.map(show).join(' and ')}`
      else sentValues[name] = values[0]
    }
    if (repetitionProblem !== undefined) return { kind: 'invalid', problem: repetitionProblem, ignoredNames }
    const { data, error } = schema.safeParse(sentValues)
    if (error === undefined) return { kind: 'valid', parameters: Object.freeze(data), ignoredNames }
    return { kind: 'invalid', problem: problemOf(error, sentValues), ignoredNames }
  }
}

/** The issue's path is the parameter's name; for answers `answer.<code>`, the code, and the answer, unless the code itself breaks the rule. */
function problemOf({ issues: [issue] }: z.ZodError, sentValues: Readonly<Record<string, unknown>>): string {
  const [parameter = '', code, answer] = issue?.path.map(String) ?? []
  const value = code === undefined ? sentValues[parameter] : answer
  const name = code === undefined ? parameter : parameter.replace(anyCode, () => cut(code))
  const shownValue = value === undefined ? '' : `, not ${show(String(value))}`
  return `${name} ${issue?.message}${shownValue}`
}

const beginningOf = (name: string): string => name.slice(0, -anyCode.length)

export const show = (value: string): string => `"${cut(value)}"`

function cut(text: string): string {
  const characters = [...text]
  return `${characters.slice(0, maxShownCharacters).join('')}${characters.length > maxShownCharacters ? '…' : ''}`
}

/** As many percent-encoded names as fit; a long first name is cut. */
function renderIgnored(names: readonly string[]): string {
  const [first = '', ...rest] = names.slice(0, maxIgnoredNames)
  const firstCharacters = [...first].slice(0, maxIgnoredBytes)
  return withAsManyAsFit(withAsManyAsFit('', '', firstCharacters), ', ', rest)
}

function withAsManyAsFit(beginning: string, separator: string, parts: readonly string[]): string {
  let text = beginning
  for (const part of parts.map(encodeURIComponent)) {
    if (text.length + separator.length + part.length > maxIgnoredBytes) break
    text += separator + part
  }
  return text
}

/*
 * Building blocks of parameter schemas. Parameters are sent as text; `meta` describes their type for OpenAPI.
 */

export const maxLimit = 100
export const defaultLimit = 20
const maxTitleCharacters = 200

export function integer(max: number) {
  const parse = (text: string): number | undefined => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    return value >= 1 && value <= max ? value : undefined
  }
  return parsed(parse, `must be an integer from 1 to ${max}`).meta({ type: 'integer', minimum: 1, maximum: max })
}

const windowBound = (edge: 'from' | 'to', description: string) =>
  parsed((text) => parseWindowBound(text, edge), `must be ${windowBoundRule}`)
    .optional()
    .meta({
      // No `format`: the union of `date-time` and `date` has no type in many languages.
      pattern: windowBoundPattern,
      description,
      examples: ['2026-11-21T08:30:00Z', '2026-11-21'],
    })

export const pageParameters = {
  limit: integer(maxLimit).default(defaultLimit).describe('Items per page.'),
  page: integer(Number.MAX_SAFE_INTEGER).default(1).describe('Page number. A page past the last one is empty.'),
}

export const createdParameters = {
  since: windowBound(
    'from',
    'Only what was created at or after this time. A date alone means its first moment in UTC.',
  ),
  until: windowBound('to', 'Only what was created at or before this time. A date alone means its last moment in UTC.'),
}

export const changedParameters = {
  changedSince: windowBound(
    'from',
    'Only what last changed at or after this time. The time is that at which Kafka appended the newest record.',
  ),
  changedUntil: windowBound('to', 'Only what last changed at or before this time.'),
}

export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` }).optional()

export const utc = 'UTC'

/** Three-letter names of the IANA database. Runtimes accept others, such as `PST`, which are ambiguous. */
const shortNames = /^(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$/i

/** Accepts IANA names in any letter case; undefined for other texts, also offsets. URL decoding makes a space of the `+` in `Etc/GMT+5`. */
export function parseTimeZone(sent: string): string | undefined {
  const text = sent.replace(' ', '+')
  const isName = /^[a-z]/i.test(text) && (text.length !== 3 || shortNames.test(text))
  if (!isName) return undefined
  return attempt(() => new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone)
}

export const timeZone = parsed(parseTimeZone, 'must be the name of an IANA time zone, such as Europe/Berlin')
  .optional()
  .meta({ type: 'string', examples: ['Europe/Berlin', 'UTC'] })

export const text = z.string().min(1, 'must not be empty').optional()

const valueRule = `must be at most ${maxValueCharacters} characters`
export const anyText = z.string().max(maxValueCharacters, valueRule)

export const value = anyText.min(1, 'must not be empty').optional()

type CodeAndValues = readonly [code: string, values: readonly string[]]

/** Values are alternatives. Sorted, so that the order of answers does not change the ETag. */
const answersByCode = z
  // `queryParser` and `readAnswers` make this shape. Validating it again would be slow for hundreds of codes.
  .custom<readonly CodeAndValues[]>()
  .superRefine((sent, context) => {
    const refuse = (message: string, ...path: string[]): void => context.addIssue({ code: 'custom', path, message })
    for (const [code, values] of sent) {
      if (code.length > maxValueCharacters) refuse(`must have a code of at most ${maxValueCharacters} characters`, code)
      for (const answer of values) if (answer.length > maxValueCharacters) refuse(valueRule, code, answer)
    }
  })
  .transform((sent) => sent.map(([code, values]) => [code, [...new Set(values)].sort()] as const).sort(byCode))

export const answers = answersByCode.optional()

function readAnswers(text: string): readonly CodeAndValues[] | undefined {
  const sent = attempt((): unknown => JSON.parse(text))
  if (!isObject(sent)) return undefined
  const entries = Object.entries(sent).map(([code, values]): readonly [string, readonly unknown[]] => [
    code,
    [values].flat(),
  ])
  const isValid = (entry: readonly [string, readonly unknown[]]): entry is CodeAndValues =>
    entry[1].length > 0 && entry[1].every((answer) => typeof answer === 'string')
  return entries.every(isValid) ? entries : undefined
}

const answersRule = 'must be a JSON object from codes to texts or lists of texts, such as {"q1":"yes","q2":["a","b"]}'

/** Like `answer.<code>`, for generated clients, which need fixed names. */
export const answersAsJson = parsed(readAnswers, answersRule)
  .pipe(answersByCode)
  .optional()
  .meta({ examples: ['{"q1":"yes","q2":["a","b"]}'] })

const byCode = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

export const safeInteger = anyText
  .refine(
    (text) => /^-?(?:0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(Number(text)),
    'must be an integer in digits within ±(2^53 − 1), such as 17',
  )
  .optional()
  .meta({
    type: 'integer',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    // Rules of a text, which an integer does not have.
    pattern: undefined,
    maxLength: undefined,
  })

export const anyNumber = parsed((text) => {
  const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}, 'must be a number within the range of a double, such as 7.5')
  .optional()
  .meta({ type: 'number' })

export const title = z
  .string()
  .refine((value) => [...value].length <= maxTitleCharacters, `must be at most ${maxTitleCharacters} characters`)
  .optional()
  .meta({ maxLength: maxTitleCharacters })

export const flag = (defaultValue: boolean) =>
  z
    .stringbool({ truthy: ['true'], falsy: ['false'], error: 'must be true or false' })
    .default(defaultValue)
    .meta({ type: 'boolean' })

export const viewParameter = oneOf(['summary', 'full']).unwrap().default('summary')

export const exportParameters = {
  view: viewParameter.describe(
    'Only in NDJSON exports. With `full`, each line is the answer of the endpoint of a single item.',
  ),
}

/** `fieldsParameter` makes the final schema of `fields`. */
export const listParameters = { ...pageParameters, ...changedParameters, ...exportParameters, fields: text }

export type ListParameters = z.output<z.ZodObject<typeof listParameters>>
