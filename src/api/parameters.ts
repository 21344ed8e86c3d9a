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
/** Bounds of the `Ignored-Parameters` header. */
const maxIgnoredNames = 10
const maxIgnoredBytes = 256

/** How many queries of each route and format are kept with what was read from them, and how long each may be. */
const maxKept = 200
const maxKeptCharacters = 1_024

/** What a query says: its parameters or its first problem, and the names of those that are ignored. */
type Read = { readonly parameters?: object; readonly problem?: string; readonly ignored: readonly string[] }

/** Dashboards send the same queries again and again: what was read from the latest is kept, frozen. */
export function parameterReader(registry: Registry): ParameterReader {
  const help = 'Unknown query parameters, which are ignored'
  const ignoredTotal = metricsIn(registry).counter('tidemark_http_ignored_parameters_total', help, ['route'])
  const readers = new WeakMap<z.ZodObject, (querystring: string) => Read>()
  return (ctx, schema) => {
    const reader = readers.get(schema) ?? keepLatest(queryReader(schema))
    readers.set(schema, reader)
    const { parameters, problem, ignored } = reader(ctx.querystring)
    if (ignored.length > 0) {
      ignoredTotal.inc({ route: routeOf(ctx) ?? '' }, ignored.length)
      ctx.set('Ignored-Parameters', renderIgnored(ignored))
    }
    if (problem !== undefined) throw apiError('bad_request', problem)
    return parameters as z.output<typeof schema>
  }
}

function keepLatest(readQuery: (querystring: string) => Read): (querystring: string) => Read {
  const latest = new LRUCache<string, Read>({ max: maxKept, memoMethod: readQuery })
  return (querystring) => (querystring.length <= maxKeptCharacters ? latest.memo(querystring) : readQuery(querystring))
}

/**
 * Returns what validates the parameters that `schema` names. A problem names the parameter, its rule, and the value that was sent, if any. A
 * client may send thousands of names: each costs one look.
 */
function queryReader(schema: z.ZodObject): (querystring: string) => Read {
  const names = new Set(Object.keys(schema.shape))
  const codeNames = [...names].filter((name) => name.endsWith(anyCode))
  /** The name in the schema of a parameter that was sent, and the code in it; none for one that is unknown. */
  const knownAs = (sent: string): readonly [known?: string, code?: string] => {
    const withCode = codeNames.find((name) => sent.startsWith(beginningOf(name)))
    if (withCode !== undefined) return [withCode, sent.slice(beginningOf(withCode).length)]
    return names.has(sent) ? [sent] : []
  }
  return (querystring) => {
    // Without this question mark, URLSearchParams would strip one that the query itself begins with.
    const query = Map.groupBy(new URLSearchParams(`?${querystring}`), ([name]) => name)
    const sent: Record<string, unknown> = {}
    const codes: [code: string, values: string[]][] = []
    const ignored: string[] = []
    let repeated: string | undefined
    for (const [name, pairs] of query) {
      const [known, code] = knownAs(name)
      const values = pairs.map(([, value]) => value)
      if (known === undefined) ignored.push(name)
      else if (code !== undefined) {
        codes.push([code, values])
        sent[known] = codes
      } else if (values.length > 1)
        repeated ??= `${name} must be given only once, not as ${values.map(show).join(' and ')}`
      else sent[name] = values[0]
    }
    if (repeated !== undefined) return { problem: repeated, ignored }
    const { data, error } = schema.safeParse(sent)
    if (error === undefined) return { parameters: Object.freeze(data), ignored }
    return { problem: problemOf(error, sent), ignored }
  }
}

function problemOf({ issues: [issue] }: z.ZodError, sent: Readonly<Record<string, unknown>>): string {
  const [known = '', code, value = code === undefined ? sent[known] : undefined] = issue?.path.map(String) ?? []
  const name = code === undefined ? known : known.replace(anyCode, () => cut(code))
  const shown = value === undefined ? '' : `, not ${show(String(value))}`
  return `${name} ${issue?.message}${shown}`
}

/** How the name of a parameter in a schema ends that stands for all names with the same beginning. Each of them may be repeated. */
export const anyCode = '<code>'

const beginningOf = (name: string): string => name.slice(0, -anyCode.length)

/** What was sent, cut to what a message may show of it. */
export const show = (value: string): string => `"${cut(value)}"`

function cut(text: string): string {
  const characters = [...text]
  return `${characters.slice(0, maxShownCharacters).join('')}${characters.length > maxShownCharacters ? '…' : ''}`
}

/** The value of `Ignored-Parameters`: as many percent-encoded names as fit, of the first one as much as fits. */
function renderIgnored(names: readonly string[]): string {
  const [first = '', ...rest] = names.slice(0, maxIgnoredNames)
  const beginning = asManyAsFit('', '', [...first].slice(0, maxIgnoredBytes))
  return asManyAsFit(beginning, ', ', rest)
}

/** `begun` and as many percent-encoded parts, one after the other, as fit into `Ignored-Parameters`. */
function asManyAsFit(begun: string, separator: string, parts: readonly string[]): string {
  let text = begun
  for (const part of parts.map(encodeURIComponent)) {
    if (text.length + separator.length + part.length > maxIgnoredBytes) break
    text += separator + part
  }
  return text
}

/*
 * The building blocks of the routes' parameter schemas. A rule follows the parameter's name, as in "limit must be an integer from 1 to 100".
 * All parameters are sent as text; `meta` describes their type in JSON Schema.
 */

export const maxLimit = 100
export const defaultLimit = 20
const maxTitleCharacters = 200

export function integer(max: number) {
  const parse = (text: string): number | undefined => {
    const value = /^\d+$/.test(text) ? Number(text) : 0
    return value >= 1 && value <= max ? value : undefined
  }
  return parsed(parse, `must be an integer from 1 to ${max}`).meta({ type: 'integer', minimum: 1, maximum: max })
}

const windowBound = (edge: 'from' | 'to', description: string) =>
  parsed((text) => parseWindowBound(text, edge), `must be ${windowBoundRule}`)
    .optional()
    .meta({
      // A union of the formats `date-time` and `date` is no type that every language has.
      pattern: windowBoundPattern,
      description,
      examples: ['2026-11-21T08:30:00Z', '2026-11-21'],
    })

export const pageParameters = {
  limit: integer(maxLimit).default(defaultLimit).describe('Items per page.'),
  page: integer(Number.MAX_SAFE_INTEGER).default(1).describe('Page number. A page past the last one is empty.'),
}

export const createdParameters = {
  since: windowBound('from', 'Only what was created at or after this time. A date alone is its first moment in UTC.'),
  until: windowBound('to', 'Only what was created at or before this time. A date alone is its last moment in UTC.'),
}

export const changedParameters = {
  changedSince: windowBound(
    'from',
    'Only what changed last at or after this time: when its newest record was appended to Kafka.',
  ),
  changedUntil: windowBound('to', 'Only what changed last at or before this time.'),
}

export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` }).optional()

export const utc = 'UTC'

/** The three-letter names that IANA knows. Programs know more, but `PST` and `IST` mean several zones. */
const shortNames = /^(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$/i

/**
 * Reads an IANA time zone name, but no offset, in any letter case, into the spelling of this process's time zone data. A space stands for the
 * `+` that a query string turned into it.
 */
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

/** What a member of a submission must be equal to. */
export const value = anyText.min(1, 'must not be empty').optional()

type CodeAndValues = readonly [code: string, values: readonly string[]]

/**
 * Answers by code, each with alternatives, in an order that does not depend on the request's. Anything may be a code, and an answer may be
 * empty.
 */
const answersByCode = z
  // Made by the reader: checking its shape would cost more than all that is said of hundreds of codes.
  .custom<readonly CodeAndValues[]>()
  .superRefine((sent, context) => {
    const refuse = (message: string, ...path: string[]): void => context.addIssue({ code: 'custom', path, message })
    for (const [code, values] of sent) {
      if (code.length > maxValueCharacters) refuse(`must have a code of at most ${maxValueCharacters} characters`, code)
      for (const each of values) if (each.length > maxValueCharacters) refuse(valueRule, code, each)
    }
  })
  .transform((sent) => sent.map(([code, values]) => [code, [...new Set(values)].sort()] as const).sort(byCode))

/** Answers in parameters whose names hold the code. */
export const answers = answersByCode.optional()

/** Reads answers from a JSON object: by code a text, or a list of alternatives. */
function readAnswers(text: string): readonly CodeAndValues[] | undefined {
  const sent = attempt((): unknown => JSON.parse(text))
  if (!isObject(sent)) return undefined
  const read = Object.entries(sent).map(([code, values]): readonly [string, readonly unknown[]] => [
    code,
    [values].flat(),
  ])
  const isRead = (entry: readonly [string, readonly unknown[]]): entry is CodeAndValues =>
    entry[1].length > 0 && entry[1].every((each) => typeof each === 'string')
  return read.every(isRead) ? read : undefined
}

const answersRule = 'must be a JSON object of texts or lists of texts by code, such as {"q1":"yes","q2":["a","b"]}'

/** The same in one parameter: what generates a client from the description needs parameters with fixed names. */
export const answersAsJson = parsed(readAnswers, answersRule)
  .pipe(answersByCode)
  .optional()
  .meta({ examples: ['{"q1":"yes","q2":["a","b"]}'] })

const byCode = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

/** An integer that JavaScript tells from its neighbours, in digits, as it is served. */
export const safeInteger = anyText
  .refine(
    (text) => /^-?(?:0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(Number(text)),
    'must be an integer in digits within ±(2^53 − 1), such as 17',
  )
  .optional()
  .meta({
    ...{ type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    ...{ pattern: undefined, maxLength: undefined },
  })

/** Any JSON number that is a double. */
export const anyNumber = parsed((text) => {
  const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}, 'must be a number within the range of a double, such as 7.5')
  .optional()
  .meta({ type: 'number' })

/** Part of a title. An empty one matches every title. */
export const title = z
  .string()
  .refine((value) => [...value].length <= maxTitleCharacters, `must be at most ${maxTitleCharacters} characters`)
  .optional()
  .meta({ maxLength: maxTitleCharacters })

export const flag = (isDefault: boolean) =>
  z
    .stringbool({ truthy: ['true'], falsy: ['false'], error: 'must be true or false' })
    .default(isDefault)
    .meta({ type: 'boolean' })

/** Which members items have. */
export const viewParameter = oneOf(['summary', 'full']).unwrap().default('summary')

/** What only exports have. */
export const exportParameters = {
  view: viewParameter.describe(
    'Only in NDJSON exports. `full` makes each line what the endpoint of a single item answers.',
  ),
}

/** What every list has besides its filters. */
export const listParameters = { ...pageParameters, ...changedParameters, ...exportParameters, fields: text }

export type ListParameters = z.output<z.ZodObject<typeof listParameters>>
