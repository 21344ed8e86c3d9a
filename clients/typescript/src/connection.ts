import { Answer } from './answer.ts'
import { ApiConnectionError, apiError, type ErrorCode, IgnoredParameterError, InvalidAnswerError } from './errors.ts'
import { Exchange } from './exchange.ts'
import type { Fetch, FetchAnswer } from './fetch.ts'
import { readRetryAfter } from './retries.ts'

export interface Request {
  /** Below `baseUrl`, such as `/records`. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly accept?: string
  /** How long the API may hold the request until there is a row. */
  readonly waitSeconds?: number
  readonly signal: AbortSignal | undefined
}

/** The body of an answer, and its headers. */
export interface Received<T> {
  readonly value: T
  readonly headers: FetchAnswer['headers']
}

interface ConnectionOptions {
  readonly baseUrl: string
  readonly accountKey: string
  readonly fetch: Fetch
  readonly timeoutMs: number
}

/** Sends single requests to the API. */
export class Connection {
  readonly #baseUrl: string
  readonly #authorization: string
  readonly #fetch: Fetch
  readonly #timeoutMs: number

  /** Throws a `TypeError` for a URL or a key that no request could be sent with. */
  constructor({ baseUrl, accountKey, fetch, timeoutMs }: ConnectionOptions) {
    this.#baseUrl = normalizedUrl(baseUrl)
    this.#authorization = `Bearer ${accountKey.trim()}`
    // Throws for characters that no header can hold. From `fetch`, the same error would look like one of the network.
    new Headers({ authorization: this.#authorization })
    if (accountKey.trim() === '') throw new TypeError('accountKey must not be empty')
    this.#fetch = fetch
    this.#timeoutMs = timeoutMs
  }

  /** Resolves with an answer of status 200, whose body is still to be read. Rejects with a `TidemarkError`, or the reason of `signal`. */
  async open({ path, query, accept = 'application/json', waitSeconds = 0, signal }: Request): Promise<Answer> {
    const exchange = new Exchange(this.#timeoutMs, signal)
    const parameters = new URLSearchParams(query).toString()
    const url = `${this.#baseUrl}${path}${parameters === '' ? '' : `?${parameters}`}`
    const headers = {
      accept,
      authorization: this.#authorization,
      ...(waitSeconds > 0 && { prefer: `wait=${waitSeconds}` }),
    }
    // A redirect that is followed would lose the key, or take it elsewhere.
    const init = { headers, redirect: 'manual', signal: exchange.signal } as const
    try {
      const received = await exchange.within(this.#fetch(url, init), waitSeconds * 1_000)
      const answer = new Answer(received, exchange, path)
      if (received.status !== 200) throw await refusalOf(received.status, answer, query)
      const ignored = received.headers.get('ignored-parameters')
      if (ignored !== null) throw new IgnoredParameterError(ignored)
      return answer
    } catch (error) {
      exchange.end()
      throw exchange.explain(error, path)
    }
  }

  /** Resolves with the JSON object of an answer, once all of it was read and `isWhole` is true of it. */
  async json<T extends object>(
    request: Request,
    isWhole: (value: Readonly<Record<string, unknown>>) => boolean,
  ): Promise<Received<T>> {
    const answer = await this.open(request)
    const value = parsed(await answer.text())
    if (value !== undefined && isWhole(value)) return { value: value as T, headers: answer.headers }
    const type = answer.headers.get('content-type') ?? 'no type'
    throw new InvalidAnswerError(`the answer to GET ${request.path} is cut, or not the API's (${type})`)
  }
}

function normalizedUrl(baseUrl: string): string {
  const page = (globalThis as { readonly location?: { readonly href: string } }).location?.href
  const url = URL.canParse(baseUrl, page) ? new URL(baseUrl, page) : undefined
  const isPlain = url?.search === '' && url.hash === '' && url.username === ''
  if (!isPlain || !/^https?:$/.test(url.protocol))
    throw new TypeError(`baseUrl must be an HTTP URL such as https://quiz.example/api/v1, not ${baseUrl}`)
  return url.href.replace(/\/+$/, '')
}

/** The JSON object that `text` is; undefined if it is none. */
export function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}

/** The error that an answer with another status than 200 stands for. */
async function refusalOf(status: number, answer: Answer, query: Request['query']): Promise<Error> {
  const { headers, path } = answer
  // A browser does not tell the status of a redirect.
  if (status === 0 || (status >= 300 && status < 400)) {
    const target = headers.get('location') ?? 'another address'
    return apiError(`GET ${path} is redirected to ${target}; baseUrl must be where the API is`, { status })
  }
  if (status < 300) return new InvalidAnswerError(`GET ${path} was answered with status ${status}`)
  const text = await answer.text().catch((error: unknown) => {
    if (error instanceof ApiConnectionError) return ''
    throw error
  })
  const said = parsed(text)?.['error'] as { readonly code?: ErrorCode; readonly message?: string } | undefined
  const message = said?.message ?? `GET ${path} was answered with status ${status}`
  return apiError(message, {
    status,
    code: said?.code,
    parameter: Object.keys(query).find((name) => message.startsWith(`${name} `) || message.startsWith(`${name}=`)),
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: readRetryAfter(headers.get('retry-after'), headers.get('date')),
  })
}
