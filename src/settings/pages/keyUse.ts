import { type Html, html } from '../../core/pages/html.ts'
import type { FeedRead, ReadKeyUse } from '../../core/redis/readKeyUse.ts'
import type { UsedKey } from '../accountKeyManager.ts'
import type { Messages } from './english.ts'
import { timeIn } from './parts.ts'

const hourMs = 3_600_000

/** Whether a key has followed a change feed, and has not asked for changes for more than an hour. */
export const standsStill = ({ askedAt }: Pick<FeedRead, 'askedAt'>, nowMs: number): boolean =>
  nowMs - Date.parse(askedAt) > hourMs

/** What a key was used for, as `<div>`s of a list of facts. */
export function useFacts({ lastDay, feeds }: ReadKeyUse, isActive: boolean, nowMs: number, say: Messages): Html {
  const { use } = say.keys
  const refused = [
    lastDay.refusals > 0 && use.refusals(numberIn(say, lastDay.refusals)),
    lastDay.mistakes > 0 && use.mistakes(numberIn(say, lastDay.mistakes)),
  ].filter((text) => text !== false)
  return html`<div><dt>${use.lastDay}</dt><dd>${lastDay.requests === 0 ? use.none : use.requests(numberIn(say, lastDay.requests))}${refused.map((text) => html` <small class="text-light">${text}</small>`)}</dd></div>
${feeds.map((feed) => html`<div><dt>${use.feeds[feed.type]}</dt><dd>${feedText(feed, isActive && standsStill(feed, nowMs), say)}</dd></div>`)}`
}

function feedText({ askedAt, readTo }: FeedRead, isStill: boolean, say: Messages): Html {
  const { use } = say.keys
  const until =
    readTo === null ? html`${use.asked} ${timeIn(say, askedAt)}` : html`${use.readTo} ${timeIn(say, readTo)}`
  return isStill ? html`${until} <small class="still">${use.still} ${timeIn(say, askedAt)}</small>` : until
}

type StillUsed = Pick<UsedKey, 'lastUsedAt'> & { readonly use: ReadKeyUse | undefined; readonly listedAtMs: number }

/** What still uses a key that has a replacement. */
export function stillUsed({ use, lastUsedAt, listedAtMs }: StillUsed, say: Messages): string {
  const { replaced, neverUsed } = say.keys
  if (lastUsedAt === null) return neverUsed
  const idleMs = listedAtMs - Date.parse(lastUsedAt)
  const lastUsed = replaced.lastUsed(agoIn(say, idleMs))
  const requests = use?.lastHour.requests
  if (requests !== undefined && requests > 0) return `${replaced.lastHour(numberIn(say, requests))} ${lastUsed}`
  // Requests of the last minute may not be counted yet.
  return requests === undefined || idleMs < hourMs ? lastUsed : `${replaced.idle} ${lastUsed}`
}

/** The time since an event, in minutes, hours or days; at least a minute, because events are known to the minute. */
export function agoIn({ language }: Messages, ms: number): string {
  const minutes = Math.max(1, Math.floor(ms / 60_000))
  const [value, unit] =
    minutes < 60
      ? ([minutes, 'minute'] as const)
      : minutes < 2 * minutesOfDay
        ? ([Math.floor(minutes / 60), 'hour'] as const)
        : ([Math.floor(minutes / minutesOfDay), 'day'] as const)
  return new Intl.RelativeTimeFormat(language).format(-value, unit)
}

const minutesOfDay = 1_440

export const numberIn = ({ language }: Messages, value: number): string => new Intl.NumberFormat(language).format(value)
