import { type Html, html } from '../../src/core/pages/html.ts'
import type { Follower, Followers } from '../../src/core/redis/readFollowers.ts'
import { counted, duration, timeOfDay } from './format.ts'
import type { Answer } from './observe.ts'
import { sectionHead, unknownSection } from './section.ts'

const title = 'Followers of the change feed'

export function followersSection(followers: Answer<Followers> | undefined, nowMs: number): Html {
  if (followers === undefined) return unknownSection(title)
  const { keys, isComplete, slowest } = followers.value
  const atLeast = isComplete ? '' : 'At least '
  return html`<section class="followers">
${sectionHead(title, followers.atMs, nowMs)}
<div class="card">
<p>${atLeast}${counted(keys, 'key')} asked for changes within the last day. ${oldestText(slowest, nowMs)}</p>
${slowest.length === 0 ? '' : table(slowest, nowMs)}
</div>
</section>`
}

function oldestText(slowest: readonly Follower[], nowMs: number): Html | string {
  const unread = slowest.filter(({ readTo }) => readTo === null)
  const oldest = slowest.find(({ readTo }) => readTo !== null)?.readTo
  const never =
    unread.length === 0
      ? ''
      : ` ${counted(unread.length, 'feed')} below ${unread.length === 1 ? 'has' : 'have'} not been read to the end yet.`
  if (oldest == null) return never
  return html`The oldest position is ${timeOfDay(Date.parse(oldest), nowMs)}.${never}`
}

function table(slowest: readonly Follower[], nowMs: number): Html {
  const ago = (instant: string): string => `${duration(Math.max(0, nowMs - Date.parse(instant)) / 1_000)} ago`
  const row = ({ teamId, keyId, type, askedAt, readTo }: Follower): Html =>
    html`<tr><th scope="row">${teamId}/${keyId} <span class="text-light">${type}</span></th><td class="number">${ago(askedAt)}</td><td class="number">${readTo === null ? 'not to the end yet' : timeOfDay(Date.parse(readTo), nowMs)}</td></tr>`
  return html`<table>
<caption>The ten that are furthest behind, up to a minute ago</caption>
<thead><tr><th scope="col">Team, key and feed</th><th scope="col" class="number">Asked</th><th scope="col" class="number">Read up to</th></tr></thead>
<tbody>${slowest.map(row)}</tbody>
</table>`
}
