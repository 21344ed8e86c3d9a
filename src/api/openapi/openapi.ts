import { accountKeyPrefix } from '../../core/model/accountKey.ts'
import { type Endpoint, endpoints } from '../routes.ts'
import { maxWaitSeconds } from '../waiting/waitForChange.ts'
import { errorResponses, headers, responsesOf } from './responses.ts'
import { answerSchemas, exampleOf, type JsonSchema, sent } from './schemas.ts'

type OpenApi = {
  readonly openapi: string
  readonly paths: Readonly<Record<string, { readonly get: Readonly<Record<string, unknown>> }>>
} & Readonly<Record<string, unknown>>

const introduction = `Read-only JSON for one team: its forms, and the submissions that these collected.

Every request carries an account key, \`Authorization: Bearer ${accountKeyPrefix}…\`, and reads all of its team's data and nothing else.
Submissions hold personal data of respondents; handle them with care.

A known field without a value is \`null\`. Unknown parameters filter nothing and are named in \`Ignored-Parameters\`. \`HEAD\` answers as
\`GET\` without a body, and a trailing slash is the same route.`

/** The OpenAPI description of the API at `serverUrl`, generated from the schemas that validate requests and Kafka records. */
export const describeApi = (serverUrl: string): OpenApi => ({
  openapi: '3.1.1',
  info: { title: 'Tidemark', version: 'v1', description: introduction },
  servers: [{ url: serverUrl }],
  security: [{ accountKey: [] }],
  tags: [
    { name: 'Forms', description: 'Quiz form definitions.' },
    { name: 'Records', description: 'Submissions: answers, scores, reports.' },
  ],
  paths: Object.fromEntries(
    endpoints.map((endpoint) => [endpoint.path.replace(':id', '{id}'), { get: describe(endpoint) }]),
  ),
  components: {
    schemas: answerSchemas,
    responses: errorResponses(),
    headers,
    securitySchemes: {
      accountKey: {
        type: 'http',
        scheme: 'bearer',
        description: `An account API key of a team, which begins with \`${accountKeyPrefix}\`.`,
      },
    },
  },
})

const describe = (endpoint: Endpoint) => ({
  operationId: endpoint.operationId,
  tags: [endpoint.tag],
  summary: endpoint.summary,
  description: endpoint.description,
  parameters: [
    ...(endpoint.path.includes(':id') ? [pathParameter(answerSchemas[endpoint.answer])] : []),
    ...queryParameters(sent(endpoint.parameters)),
    ifNoneMatch,
    ...(endpoint.line === undefined ? [] : [prefer]),
  ],
  responses: responsesOf(endpoint),
})

/** The parameter that names an entity, as the `id` of its answer does. */
function pathParameter({ properties = {} }: JsonSchema) {
  const id = properties['id'] as JsonSchema
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: id.description,
    schema: { type: 'string' },
    example: exampleOf(id),
  }
}

const queryParameters = ({ properties = {}, required = [] }: JsonSchema) =>
  Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = property as JsonSchema
    return { name, in: 'query', required: required.includes(name), description, schema }
  })

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description:
    'The `ETag` of an earlier answer, several of them with commas between, or `*`: 304 when nothing has changed since.',
  schema: { type: 'string' },
}

const prefer = {
  name: 'Prefer',
  in: 'header',
  required: false,
  description:
    `\`wait=N\`, from 1 to ${maxWaitSeconds} (RFC 7240): with \`changedSince\`, the answer comes as soon as there is something in it, and after so ` +
    'many seconds at the latest. With the `ETag` of the last answer as `If-None-Match`, as soon as the list has changed after that one. Without `changedSince`, or when too many requests wait already, it comes at once, without ' +
    '`Preference-Applied`.',
  schema: { type: 'string' },
  example: 'wait=30',
}
