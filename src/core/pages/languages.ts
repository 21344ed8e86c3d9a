import { type Html, html } from './html.ts'

type Catalogue = {
  /** BCP 47. */
  readonly language: string
  readonly languageName: string
  readonly languageSwitch: string
}

/** The catalogue for the first of `tags` whose primary language is available (`zh-TW` gets simplified Chinese); otherwise the first one. */
export function preferredOf<Texts extends Catalogue>(
  catalogues: readonly [Texts, ...Texts[]],
  tags: readonly (string | undefined)[],
): Texts {
  const primaryLanguage = (tag = ''): string | undefined => tag.split('-')[0]?.toLowerCase()
  const available = tags.map((tag) =>
    catalogues.find(({ language }) => primaryLanguage(language) === primaryLanguage(tag)),
  )
  return available.find((catalogue) => catalogue !== undefined) ?? catalogues[0]
}

/** Links to `path` in the other languages. */
export const languageSwitch = (catalogues: readonly Catalogue[], current: Catalogue, path: string): Html =>
  html`<nav class="hstack" aria-label="${current.languageSwitch}">${catalogues.map(({ language, languageName }) =>
    language === current.language
      ? html`<strong aria-current="true" lang="${language}">${languageName}</strong>`
      : html`<a href="${path}?language=${language}" lang="${language}" hreflang="${language}">${languageName}</a>`,
  )}</nav>`
