import type { SettingsContext, SettingsMiddleware } from './context.ts'
import { isLanguage, type Language, languages } from './pages/languages.ts'

const name = 'tidemark-language'
const lifeSeconds = 365 * 86_400

/** Finds the language of the answer: asked for in the URL, which is kept in a cookie, else the cookie's, else the browser's. */
export const chooseLanguage =
  (isSecure: boolean): SettingsMiddleware =>
  (ctx, next) => {
    const asked = ctx.query['language']
    if (isLanguage(asked)) {
      const attributes = `Path=/; Max-Age=${lifeSeconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
      ctx.append('Set-Cookie', `${name}=${asked}; ${attributes}`)
    }
    ctx.state.language = isLanguage(asked) ? asked : keptOrPreferred(ctx)
    return next()
  }

function keptOrPreferred(ctx: SettingsContext): Language {
  const kept = ctx.cookies.get(name)
  return isLanguage(kept) ? kept : preferredOf(ctx.get('Accept-Language'))
}

/** The first language of the header, by its weights, that the settings area speaks; all of Chinese is simplified here. */
export function preferredOf(header: string): Language {
  const wanted = header
    .split(',')
    .map((item) => {
      const [tag = '', ...parameters] = item.split(';').map((part) => part.trim())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1'
      return { language: spoken(tag), weight: Number(weight) }
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
  return wanted.find(({ language }) => language !== undefined)?.language ?? languages[0]
}

function spoken(tag: string): Language | undefined {
  if (/^zh\b/i.test(tag)) return 'zh-Hans'
  return /^en\b/i.test(tag) ? 'en' : undefined
}
