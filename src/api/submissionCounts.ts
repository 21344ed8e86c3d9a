import { z } from 'zod'
import { jsonOf } from '../core/json/iJson.ts'
import type { Route } from './context.ts'
import type { Endpoint } from './endpoint.ts'
import { validatorsOf } from './etag.ts'
import { countSchema, jsonSchemaOf } from './openapi/jsonSchema.ts'
import { anyText, flag, timeZone, utc } from './parameters.ts'
import { respond } from './respond.ts'
import {
  answersTo,
  anyValueOf,
  type Counts,
  countSubmissions,
  everyValueOf,
  type Grouping,
  maxCounts,
  mostBytes,
  type TimeUnit,
  timeUnits,
  usualBytes,
} from './search/counts.ts'
import { AnswerTooLong } from './search/searchClient.ts'
import { indexFields, requireIndexedAnswers, selectionParameters, submissionsFilters } from './submissions.ts'

/** `everyValueOf`: every submission has the field; `anyValueOf`: some lack it. */
const countedValues = {
  form: () => everyValueOf('formId'),
  status: () => everyValueOf('status'),
  level: () => anyValueOf(indexFields.level),
  outcome: () => anyValueOf(indexFields.outcomeCode),
  utmSource: () => anyValueOf(indexFields.utmSource),
  utmCampaign: () => anyValueOf(indexFields.utmCampaign),
  answer: answersTo,
}
type CountedName = keyof typeof countedValues
const countedNames = Object.keys(countedValues) as CountedName[]

/** What a value of `by` means: `day`, `level`, or `day,level`. */
type NamedGrouping =
  | { readonly kind: 'units'; readonly unit: TimeUnit }
  | { readonly kind: 'values'; readonly name: CountedName }
  | { readonly kind: 'values-of-units'; readonly unit: TimeUnit; readonly name: CountedName }

const groupings = new Map<string, NamedGrouping>([
  ...timeUnits.map((unit) => [unit, { kind: 'units', unit }] as const),
  ...countedNames.map((name) => [name, { kind: 'values', name }] as const),
  ...timeUnits.flatMap((unit) =>
    countedNames.map((name) => [`${unit},${name}`, { kind: 'values-of-units', unit, name }] as const),
  ),
])
const singleNames = [...timeUnits, ...countedNames].join(', ')

export const countSubmissionsParameters = z
  .object({
    by: z
      .enum([...groupings.keys()], {
        error: ({ input }) =>
          `${input === undefined ? 'is required: one' : 'must be one'} of ${singleNames}, or a time and a value, such as day,level`,
      })
      .describe(
        'What submissions are counted by: a time, which is the `hour`, `day` or `month` of `submittedAt`; a value, which is the `form`, `status`, ' +
          '`level`, `outcome`, `utmSource`, `utmCampaign`, or `answer` to the field `code`; or a time and a value, such as `day,level`.',
      ),
    code: anyText
      .optional()
      .describe('The code of the field whose answers are counted. Required if `by` names `answer`, otherwise refused.'),
    scores: flag(false).describe(
      '`true` adds `scores` to each item: number, minimum, maximum and mean of `result.score`.',
    ),
    timeZone: timeZone.describe(
      'IANA time zone of the hours, days or months; UTC by default. Another zone needs `hour`, `day` or `month` in `by`.',
    ),
    ...selectionParameters,
  })
  .superRefine(({ by, code, timeZone: zone = utc }, context) => {
    const refuse = (name: string, message: string): void => context.addIssue({ code: 'custom', path: [name], message })
    const grouping = groupingOf(by)
    if (zone !== utc && grouping.kind === 'values')
      refuse('timeZone', 'needs hour, day or month in by; leave it out otherwise')
    const needsCode = countsAnswers(grouping)
    if (needsCode && code === undefined) refuse('code', `is required with by=${by}`)
    if (!needsCode && code !== undefined) refuse('code', 'needs answer in by; leave it out otherwise')
  })

function groupingOf(by: string): NamedGrouping {
  const grouping = groupings.get(by)
  if (grouping === undefined) throw new Error(`by=${by} is not one of its values`)
  return grouping
}

const countsAnswers = (grouping: NamedGrouping): boolean => grouping.kind !== 'units' && grouping.name === 'answer'

function groupingFor(grouping: NamedGrouping, code: string): Grouping {
  switch (grouping.kind) {
    case 'units':
      return grouping
    case 'values':
      return { kind: 'values', value: countedValues[grouping.name](code) }
    case 'values-of-units':
      return { kind: 'values-of-units', unit: grouping.unit, value: countedValues[grouping.name](code) }
  }
}

export const countRecords: Route = async (ctx, { readParameters, indexReader, answers, nowMs }) => {
  const parameters = readParameters(ctx, countSubmissionsParameters)
  const validators = validatorsOf(ctx, 'submissions', parameters)
  const { by, code = '', scores: hasScores, timeZone: zone = utc, until } = parameters
  const { accountKey, turns } = ctx.state
  const { teamId } = accountKey
  const [filter] = submissionsFilters(teamId, parameters, indexReader.hasAnswers)
  if (countsAnswers(groupingOf(by))) requireIndexedAnswers(indexReader.hasAnswers, 'by=answer')
  const request = {
    list: { ...indexReader, type: 'submissions' as const, teamId, indices: validators.indices },
    filter,
    grouping: groupingFor(groupingOf(by), code),
    // Units of time are likely to end here, which saves a search for the newest submission.
    untilMs: until === undefined || until === 'beyond-all' ? Number.POSITIVE_INFINITY : Date.parse(until),
    by,
    timeZone: zone,
    hasScores,
  }
  const countWithin = async (maxBytes: number): Promise<Counts> => {
    const release = await turns.reserve(maxBytes)
    try {
      // Twice `maxBytes`, because a count may cost Elasticsearch as much as many pages.
      return await turns.run((signal) => countSubmissions({ ...request, maxBytes, signal }, nowMs()), 2 * maxBytes)
    } catch (error) {
      if (!(error instanceof AnswerTooLong)) throw error
      release()
      // Once more with the largest bound, above which `countSubmissions` throws 400.
      return await countWithin(mostBytes)
    }
  }
  const makeWhole = async () => {
    const { totalDocs, items } = await countWithin(usualBytes)
    return { body: Buffer.from(jsonOf({ totalDocs, by, items })) }
  }
  await respond(ctx, answers, validators, { kind: 'whole', makeWhole, mayBeMissing: false })
}

const countsAnswer = z.object({
  totalDocs: countSchema(
    'The exact number of matching submissions. Equals the sum of all counts, unless `by` names `answer`: a list counts once for each element.',
    3,
  ),
  by: countSubmissionsParameters.shape.by,
  items: z
    .array(
      z.object({
        // Text, null, or a list of both: a union for which most languages have no type.
        key: z
          .unknown()
          .describe(
            'By a time: the start of the hour, day or month, in local time of the time zone with its offset, such as ' +
              '`2026-03-29T03:00:00.000+02:00`. By a value: text, or null for submissions without a value. By both: a list of the two.',
          ),
        count: z.int().min(0),
        scores: z
          .object({
            count: z.int().min(0),
            min: z.number().nullable(),
            max: z.number().nullable(),
            mean: z.number().nullable(),
          })
          .optional()
          .describe(
            'Number, minimum, maximum and mean of `result.score`, of submissions that have a score. Only with `scores=true`.',
          ),
      }),
    )
    .max(maxCounts)
    .meta({
      description:
        'By a time: every hour, day or month from the first with submissions to the last, oldest first; those between may have none. By a value: ' +
        'each value that submissions have, the most frequent first, then by key. By both: the times with submissions, oldest first, each with its values.',
      examples: [
        [
          { key: '2026-03-29T01:00:00.000+01:00', count: 2 },
          { key: '2026-03-29T03:00:00.000+02:00', count: 1 },
        ],
      ],
    }),
})

export const countSchemas = { SubmissionCounts: jsonSchemaOf(countsAnswer) } as const

export const countEndpoints: readonly Endpoint<keyof typeof countSchemas>[] = [
  {
    path: '/record-counts',
    parameters: countSubmissionsParameters,
    respond: countRecords,
    operationId: 'countRecords',
    summary: 'Count submissions',
    description:
      'Counts the submissions that match the filters of `/records`: by hour, day or month, by form, status, level, outcome, source, campaign or ' +
      'answer, or by a time and a value. The counts are exact. They add up to `totalDocs`, unless `by` names `answer`: a list counts once ' +
      `for each element. Above ${maxCounts} items, the answer is 400.`,
    answer: 'SubmissionCounts',
  },
]
