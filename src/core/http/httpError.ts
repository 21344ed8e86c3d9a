export type HttpErrorDetails<Rejection extends string = string> = {
  readonly headers?: Readonly<Record<string, string>>
  /** The label `reason` of `tidemark_http_rejected_total`; without it, the request is not counted. */
  readonly rejection?: Rejection
  readonly cause?: unknown
}

/** Ends a request with an error: the API sends `code` and `message`, the settings area the page of `code`. */
export class HttpError<Code extends string, Rejection extends string> extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  readonly code: Code
  readonly headers: Readonly<Record<string, string>>
  readonly rejection: Rejection | undefined

  constructor(status: number, code: Code, message: string, details: HttpErrorDetails<Rejection> = {}) {
    super(message, { cause: details.cause })
    this.status = status
    this.code = code
    this.headers = details.headers ?? {}
    this.rejection = details.rejection
  }
}
