import type { Instant } from '../../core/model/instant.ts'
import { type Html, html } from '../../core/process/html.ts'
import { chinese } from './chinese.ts'
import { english, type Messages } from './english.ts'

/** BCP 47 tags of the languages of the settings area; the first is the default. */
export const languages = ['en', 'zh-Hans'] as const
export type Language = (typeof languages)[number]

export const messagesIn: Readonly<Record<Language, Messages>> = { en: english, 'zh-Hans': chinese }

/** Each language by its own name. */
export const languageNames: Readonly<Record<Language, string>> = { en: 'English', 'zh-Hans': '简体中文' }

export const isLanguage = (text: unknown): text is Language => languages.some((language) => language === text)

/** What pages are written with in one language: its messages, and how it writes times. */
export type Writer = { readonly say: Messages; readonly at: TimeFormat }

export const writerIn = (language: Language): Writer => ({ say: messagesIn[language], at: timeFormatIn(language) })

/** Writes times as `<time>` elements, in UTC and to the minute. */
type TimeFormat = {
  exact(instant: Instant): Html
  /** With JavaScript, the browser shows how long ago the time was instead. */
  ago(instant: Instant): Html
}

function timeFormatIn(language: Language): TimeFormat {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  const write = (instant: Instant): string => messagesIn[language].utc(format.format(Date.parse(instant)))
  return {
    exact: (instant) => html`<time datetime="${instant}">${write(instant)}</time>`,
    ago: (instant) => html`<time datetime="${instant}" data-ago>${write(instant)}</time>`,
  }
}
