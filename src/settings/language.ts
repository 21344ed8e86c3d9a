import Negotiator from 'negotiator'
import type { SettingsContext, SettingsMiddleware } from './context.ts'
import { setCookie } from './cookies.ts'
import { isLanguage, type Language, languages } from './pages/languages.ts'

const name = 'tidemark-language'
const maxAgeSeconds = 365 * 86_400

/** Chooses the language of the answer: the URL's `language`, which a cookie then keeps, else the cookie's, else the browser's. */
export const chooseLanguage =
  (isSecure: boolean): SettingsMiddleware =>
  (ctx, next) => {
    const asked = ctx.query['language']
    if (isLanguage(asked)) setCookie(ctx, { name, value: asked, maxAgeSeconds, isSecure })
    ctx.state.language = isLanguage(asked) ? asked : keptOrPreferred(ctx)
    return next()
  }

function keptOrPreferred(ctx: SettingsContext): Language {
  const kept = ctx.cookies.get(name)
  return isLanguage(kept) ? kept : preferredOf(ctx.get('Accept-Language'))
}

/**
 * The language of `Accept-Language` with the greatest weight that the settings area has. Any Chinese is answered in simplified
 * Chinese, which Koa's `acceptsLanguages` would not do: it knows no relation between `zh-TW` and `zh-Hans`.
 */
function preferredOf(header: string): Language {
  const wanted = new Negotiator({ headers: { 'accept-language': header } }).languages()
  return wanted.map(languageOf).find((language) => language !== undefined) ?? languages[0]
}

function languageOf(tag: string): Language | undefined {
  if (/^zh\b/i.test(tag)) return 'zh-Hans'
  return /^en\b/i.test(tag) ? 'en' : undefined
}
