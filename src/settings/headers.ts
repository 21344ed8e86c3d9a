import type { SettingsMiddleware } from './context.ts'

/** A page may load and send what is its own, and nobody may put it into a frame. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/**
 * What every answer says, whatever it answers. The referrer stays within the origin: with `no-referrer` browsers would send
 * `Origin: null` with every form.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': contentSecurityPolicy,
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

export const guardAnswers: SettingsMiddleware = (ctx, next) => {
  ctx.set(securityHeaders)
  return next()
}
