export type HttpErrorDetails<Rejection extends string = string> = {
  readonly headers?: Readonly<Record<string, string>>
  /** The reason under which `tidemark_http_rejected_total` counts the request; without one it is not counted. */
  readonly rejection?: Rejection
  /** What the log says; no answer shows it. */
  readonly cause?: unknown
}

/** Ends a request with an error answer: the API sends `code` and `message` as JSON, the settings area shows the page of `code`. */
export class HttpError<Code extends string, Rejection extends string> extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  readonly code: Code
  readonly headers: Readonly<Record<string, string>>
  readonly rejection: Rejection | undefined

  constructor(
    status: number,
    code: Code,
    message: string,
    { headers = {}, rejection, cause }: HttpErrorDetails<Rejection> = {},
  ) {
    super(message, { cause })
    this.status = status
    this.code = code
    this.headers = headers
    this.rejection = rejection
  }
}
