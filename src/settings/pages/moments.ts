import { html } from 'hono/html'
import type { Instant } from '../../core/model/instant.ts'
import type { Html } from './html.ts'
import { type Language, messagesIn } from './languages.ts'

/** How moments are written: in UTC, and for machines too. */
export type Moments = {
  /** To the minute. */
  exact(instant: Instant): Html
  /** To the minute; a browser that can says how long ago instead. */
  ago(instant: Instant): Html
}

export function momentsIn(language: Language): Moments {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  const write = (instant: Instant): string => messagesIn[language].utc(format.format(Date.parse(instant)))
  return {
    exact: (instant) => html`<time datetime="${instant}">${write(instant)}</time>`,
    ago: (instant) => html`<time datetime="${instant}" data-ago>${write(instant)}</time>`,
  }
}
