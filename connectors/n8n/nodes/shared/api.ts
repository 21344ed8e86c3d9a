import {
  type IDataObject,
  type IExecuteFunctions,
  type IHttpRequestOptions,
  type ILoadOptionsFunctions,
  type ITriggerFunctions,
  NodeApiError,
  sleep,
} from 'n8n-workflow'
import { parseExactly } from './exactJson.ts'
import { retryAfterMs } from './retryAfter.ts'

export type Functions = IExecuteFunctions | ILoadOptionsFunctions | ITriggerFunctions

/** Values of parameters of the query; one that is `undefined` is not sent. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export type Answer<Body = string> = {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Body
}

type Wanted = Pick<IHttpRequestOptions, 'headers' | 'timeout' | 'abortSignal' | 'encoding'>

const timeoutMs = 60_000
const tries = 5
const longestWaitMs = 60_000

/** Asks the API once. Resolves with any status; rejects when there is no whole answer. */
export async function ask<Body = string>(
  functions: Functions,
  path: string,
  query: Query,
  wanted: Wanted = {},
): Promise<Answer<Body>> {
  const { baseUrl } = await functions.getCredentials('tidemarkApi')
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.append(name, String(value))
  const options: IHttpRequestOptions = {
    url: `${String(baseUrl).replace(/\/+$/, '')}/${path}?${parameters}`,
    method: 'GET',
    encoding: 'text',
    timeout: timeoutMs,
    returnFullResponse: true,
    ignoreHttpStatusErrors: true,
    ...wanted,
  }
  const answer = await functions.helpers.httpRequestWithAuthentication.call(functions, 'tidemarkApi', options)
  const { statusCode, headers, body } = answer as { statusCode: number; headers: Answer['headers']; body: Body }
  return { status: statusCode, headers, body }
}

/**
 * Asks for an answer of 200. Waits as long as `Retry-After` says after 429 and 503, up to a minute each time, and throws a NodeApiError for any other
 * status, and after five tries.
 */
export async function askPatiently<Body = string>(
  functions: Functions,
  path: string,
  query: Query,
  wanted: Wanted = {},
): Promise<Answer<Body>> {
  for (let left = tries - 1; ; left -= 1) {
    const answer = await ask<Body>(functions, path, query, wanted).catch((error: Error) => {
      throw unreachable(functions, error)
    })
    if (answer.status === 200) return answer
    const body = await textOf(answer.body)
    const waitMs = retryAfterMs(answer.headers['retry-after'], Date.now()) ?? 1_000
    const mayPass = answer.status === 429 || answer.status === 503
    if (!mayPass || left === 0 || waitMs > longestWaitMs) throw refusal(functions, { ...answer, body })
    await sleep(waitMs)
  }
}

/** The JSON object of an answer of 200, with numbers as `parseExactly` reads them. */
export async function askForObject(functions: Functions, path: string, query: Query): Promise<IDataObject> {
  const { body } = await askPatiently(functions, path, query)
  return parseExactly(body) as IDataObject
}

/** The error that n8n shows for an answer other than 200: it names the parameter that the API refuses, or the field of the credential. */
export function refusal(functions: Functions, { status, body }: Answer): NodeApiError {
  const said = messageIn(body)
  const [message, description] = explained(status, said)
  return new NodeApiError(functions.getNode(), { message: said }, { message, description, httpCode: String(status) })
}

function explained(status: number, said: string): readonly [message: string, description: string] {
  if (status === 401) return [`The account key is refused: ${said}`, 'Check "Account Key" in the credential.']
  if (status === 400) return [`Tidemark refuses a parameter: ${said}`, 'The first word names the parameter.']
  if (status === 404)
    return [`Not found: ${said}`, 'Check the ID, and in the credential "Base URL", which ends in /api/v1.']
  if (status === 429)
    return [`Too many requests: ${said}`, 'A key has 120 requests a minute unless the operator has set another limit.']
  return [
    `Tidemark answers ${status}: ${said}`,
    'It may pass: "Retry On Fail" in the settings of the node tries again.',
  ]
}

/** The error that n8n shows when there is no whole answer. */
export function unreachable(functions: Functions, error: Error): NodeApiError {
  const description = 'Check "Base URL" in the credential, and whether n8n reaches that server.'
  return new NodeApiError(
    functions.getNode(),
    { message: error.message },
    { message: `No answer from Tidemark: ${error.message}`, description },
  )
}

/** What the body of an error says. */
export function messageIn(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error: { message: string } }
    return error.message
  } catch {
    // Not an answer of the API, such as the page of a proxy.
    return body.slice(0, 200)
  }
}

/** The text of a body that was asked for as text or as a stream. */
async function textOf(body: unknown): Promise<string> {
  if (typeof body === 'string') return body
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of body as AsyncIterable<Buffer>) text += decoder.decode(piece, { stream: true })
  return text
}
