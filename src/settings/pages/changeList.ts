import { type Html, html } from '../../core/pages/html.ts'
import type { KeyChange } from '../keyAudit.ts'
import type { Messages } from './english.ts'
import { timeIn } from './parts.ts'

/** A click shows the others. */
const shownAtOnce = 10

/** `changes`: newest first; undefined if they cannot be read. */
export function changeList(changes: readonly KeyChange[] | undefined, messages: Messages): Html | '' {
  if (changes === undefined || changes.length === 0) return ''
  const { title, more } = messages.changes
  const earlier = changes.slice(shownAtOnce)
  return html`<section class="changes mt-6" aria-labelledby="changes-title">
<h2 id="changes-title">${title}</h2>
${listOf(changes.slice(0, shownAtOnce), messages)}
${earlier.length === 0 ? '' : html`<details><summary>${more(earlier.length)}</summary>${listOf(earlier, messages)}</details>`}
</section>`
}

const listOf = (changes: readonly KeyChange[], messages: Messages): Html =>
  html`<ul class="unstyled" role="list">${changes.map((change) => html`<li>${changeText(change, messages)}</li>`)}</ul>`

function changeText({ at, by, change, key }: KeyChange, messages: Messages): Html {
  const start = key.start == null ? '' : html` <code>${key.start}…</code>`
  return html`<strong>${messages.changes.kinds[change]}</strong> ${key.name ?? key.id}${start} <small class="text-light">${timeIn(messages, at)}, ${messages.changes.by(by)}</small>`
}
