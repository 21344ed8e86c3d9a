import { type Html, html } from '../../core/pages/html.ts'
import type { FeedRead, ReadKeyUse } from '../../core/redis/readKeyUse.ts'
import type { UsedKey } from '../accountKeyManager.ts'
import type { Messages } from './english.ts'
import { timeIn } from './parts.ts'

const hourMs = 3_600_000
const minutesOfDay = 1_440

/** Whether a key has read a change feed, but not in the last hour. */
export const standsStill = ({ askedAt }: Pick<FeedRead, 'askedAt'>, nowMs: number): boolean =>
  nowMs - Date.parse(askedAt) > hourMs

/** As `<div>`s of a list of facts. */
export function useFacts({ lastDay, feeds }: ReadKeyUse, isActive: boolean, nowMs: number, messages: Messages): Html {
  const { use } = messages.keys
  const refused = [
    lastDay.refusals > 0 && use.refusals(numberIn(messages, lastDay.refusals)),
    lastDay.mistakes > 0 && use.mistakes(numberIn(messages, lastDay.mistakes)),
  ].filter((text) => text !== false)
  return html`<div><dt>${use.lastDay}</dt><dd>${lastDay.requests === 0 ? use.none : use.requests(numberIn(messages, lastDay.requests))}${refused.map((text) => html` <small class="text-light">${text}</small>`)}</dd></div>
${feeds.map((feed) => html`<div><dt>${use.feeds[feed.type]}</dt><dd>${feedText(feed, isActive && standsStill(feed, nowMs), messages)}</dd></div>`)}`
}

function feedText({ askedAt, readTo }: FeedRead, isStill: boolean, messages: Messages): Html {
  const { use } = messages.keys
  const until =
    readTo === null ? html`${use.asked} ${timeIn(messages, askedAt)}` : html`${use.readTo} ${timeIn(messages, readTo)}`
  return isStill ? html`${until} <small class="still">${use.still} ${timeIn(messages, askedAt)}</small>` : until
}

type StillUsed = Pick<UsedKey, 'lastUsedAt'> & { readonly use: ReadKeyUse | undefined; readonly listedAtMs: number }

export function stillUsed({ use, lastUsedAt, listedAtMs }: StillUsed, messages: Messages): string {
  const { replaced, neverUsed } = messages.keys
  if (lastUsedAt === null) return neverUsed
  const idleMs = listedAtMs - Date.parse(lastUsedAt)
  const lastUsed = replaced.lastUsed(agoIn(messages, idleMs))
  const requests = use?.lastHour.requests
  if (requests !== undefined && requests > 0) return `${replaced.lastHour(numberIn(messages, requests))} ${lastUsed}`
  // Requests of the last minute may not be counted yet.
  return requests === undefined || idleMs < hourMs ? lastUsed : `${replaced.idle} ${lastUsed}`
}

/** At least a minute, because events are known to the minute. */
export function agoIn({ language }: Messages, ms: number): string {
  const format = new Intl.RelativeTimeFormat(language)
  const minutes = Math.max(1, Math.floor(ms / 60_000))
  if (minutes < 60) return format.format(-minutes, 'minute')
  if (minutes < 2 * minutesOfDay) return format.format(-Math.floor(minutes / 60), 'hour')
  return format.format(-Math.floor(minutes / minutesOfDay), 'day')
}

export const numberIn = ({ language }: Messages, value: number): string => new Intl.NumberFormat(language).format(value)
