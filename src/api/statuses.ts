/** The status of every error answer, by its code. */
export const statuses = {
  bad_request: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  uri_too_long: 414,
  rate_limited: 429,
  headers_too_long: 431,
  internal_error: 500,
  service_unavailable: 503,
} as const
