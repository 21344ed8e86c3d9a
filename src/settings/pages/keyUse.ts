import { type Html, html } from '../../core/pages/html.ts'
import type { FeedRead, ReadKeyUse } from '../../core/redis/readKeyUse.ts'
import type { Messages } from './english.ts'
import { timeIn } from './parts.ts'

/** A change feed that was not asked for this long stands still: longer than the pause of any client that follows it. */
const standsStillMs = 3_600_000

/** Whether a key has followed a change feed, and has not asked for changes for more than an hour. */
export const standsStill = ({ askedAt }: Pick<FeedRead, 'askedAt'>, nowMs: number): boolean =>
  nowMs - Date.parse(askedAt) > standsStillMs

/** What a key was used for, as `<div>`s of a list of facts. */
export function useFacts({ lastDay, feeds }: ReadKeyUse, isActive: boolean, nowMs: number, say: Messages): Html {
  const { use } = say.keys
  const refused = [
    lastDay.refusals > 0 && use.refusals(numberIn(say, lastDay.refusals)),
    lastDay.mistakes > 0 && use.mistakes(numberIn(say, lastDay.mistakes)),
  ].filter((text) => text !== false)
  return html`<div><dt>${use.lastDay}</dt><dd>${use.requests(numberIn(say, lastDay.requests))}${refused.map((text) => html` <small class="text-light">${text}</small>`)}</dd></div>
${feeds.map((feed) => html`<div><dt>${use.feeds[feed.type]}</dt><dd>${feedText(feed, isActive && standsStill(feed, nowMs), say)}</dd></div>`)}`
}

function feedText({ askedAt, readTo }: FeedRead, isStill: boolean, say: Messages): Html {
  const { use } = say.keys
  const until =
    readTo === null ? html`${use.asked} ${timeIn(say, askedAt)}` : html`${use.readTo} ${timeIn(say, readTo)}`
  return isStill ? html`${until} <small class="still">${use.still} ${timeIn(say, askedAt)}</small>` : until
}

export const numberIn = ({ language }: Messages, value: number): string => new Intl.NumberFormat(language).format(value)
