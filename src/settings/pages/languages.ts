import { chinese } from './chinese.ts'
import { english } from './english.ts'
import type { Messages } from './messages.ts'

/** What the settings area speaks, as BCP 47 tags; the first is for everybody else. */
export const languages = ['en', 'zh-Hans'] as const
export type Language = (typeof languages)[number]

export const messagesIn: Readonly<Record<Language, Messages>> = { en: english, 'zh-Hans': chinese }

/** Each language by its own name. */
export const languageNames: Readonly<Record<Language, string>> = { en: 'English', 'zh-Hans': '简体中文' }

export const isLanguage = (text: unknown): text is Language => languages.some((language) => language === text)
