import { html } from '../../core/process/html.ts'
import { keyFacts, type ListedKey, stateBadge } from './keyList.ts'
import type { Writer } from './languages.ts'
import { csrfField, type Page } from './layout.ts'

/** Asks the owner to confirm a change, and says what will stop working. */
export function confirmPage(change: 'revoke' | 'delete', key: ListedKey, csrf: string, writer: Writer): Page {
  const { say } = writer
  const confirmation = change === 'revoke' ? say.confirmRevoke : say.confirmDelete
  const title = confirmation.title(key.name)
  return {
    title,
    content: html`<div class="single panel">
<header><h1>${title}</h1>${stateBadge(key.shownState, writer)}</header>
${keyFacts(key, writer)}
<ul class="effects">${confirmation.effects.map((effect) => html`<li>${effect}</li>`)}</ul>
<form method="post" action="/keys/${encodeURIComponent(key.id)}/${change}" class="actions">
${csrfField(csrf)}<button class="danger solid">${confirmation.submit}</button>
<a class="button" href="/keys">${say.cancel}</a>
</form>
</div>`,
  }
}
