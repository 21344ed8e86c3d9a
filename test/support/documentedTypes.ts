/** Schemas of the API's answers, transcribed from the specification, independently of the code under test. */

type Schema = Readonly<Record<string, unknown>>

const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })
const anyJson = {}
const text = nullable({ type: 'string' })
const number = nullable({ type: 'number' })
const array = nullable({ type: 'array' })
const object = nullable({ type: 'object' })
const boolean = nullable({ type: 'boolean' })
const identifier = { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,128}$' }
const instant = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' }
const reportStatus = { enum: ['pending', 'processing', 'completed', 'failed'] }

const all = (names: string, type: Schema): Record<string, Schema> =>
  Object.fromEntries(names.split(' ').map((name) => [name, type]))
/** An object with exactly these members. */
const exactly = (properties: Record<string, Schema>): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

const formSummary = {
  ...all('title', { type: 'string' }),
  ...all('scene', { enum: ['knowledge_quiz', 'random_knowledge_quiz', 'scored_quiz', 'outcome_quiz'] }),
  ...all('id', identifier),
  ...all('createdAt updatedAt', instant),
  ...all('language publicToken shareUrl', text),
  ...all('localization', object),
  ...all('isActive', boolean),
}

const utmAndReferrer = 'utmSource utmMedium utmCampaign utmTerm utmContent referrer'
const commonOfSubmissions = {
  ...all('id formId', identifier),
  ...all('submittedAt updatedAt', instant),
  ...all('serialNumber', nullable({ type: 'integer' })),
  ...all('shareToken reportUrl', text),
  ...all('data', object),
}

export const documentedTypes = {
  formSummary: exactly(formSummary),
  form: exactly({
    ...formSummary,
    ...all('description layout', text),
    ...all('systemText report', object),
    ...all('fields', array),
  }),
  submissionSummary: exactly({
    ...commonOfSubmissions,
    examinee: nullable(exactly({ ...all('id examineeId email name', text), customData: anyJson })),
    metadata: nullable(exactly(all(utmAndReferrer, text))),
    result: exactly({
      status: reportStatus,
      ...all('score maxScore', number),
      ...all('level outcomeCode outcomeName', text),
    }),
  }),
  submission: exactly({
    ...commonOfSubmissions,
    examinee: nullable(exactly(all('id email name', text))),
    metadata: nullable(exactly(all(`${utmAndReferrer} ip userAgent`, text))),
    reportResult: nullable(
      exactly({
        status: nullable(reportStatus),
        overallAnalysis: nullable(
          exactly({ ...all('score maxScore', number), ...all('level summary suggestions', text) }),
        ),
        dimensionAnalysis: nullable(exactly({ ...all('title', text), ...all('radar items', array) })),
        outcome: nullable(exactly({ ...all('code name', text), ranking: anyJson })),
        aiSuggestion: nullable(exactly(all('status content', text))),
      }),
    ),
  }),
}
