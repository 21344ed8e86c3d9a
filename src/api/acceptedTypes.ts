import type { ApiMiddleware } from './context.ts'

/** A parameter of a media type other than its weight. */
const parameters = /;\s*(?!q=)[^\s;,=]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,]*)/gi

/** Leaves media types and their weights alone in `Accept`: a charset beside one asks for no other answer. */
export const acceptedTypes: ApiMiddleware = (ctx, next) => {
  const { headers } = ctx.req
  if (headers.accept !== undefined) headers.accept = headers.accept.replaceAll(parameters, '')
  return next()
}
