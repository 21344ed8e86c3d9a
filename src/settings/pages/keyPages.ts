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
${csrfField(csrf)}<button class="solid">${confirmation.submit}</button>
<a class="button" href="/keys">${say.cancel}</a>
</form>
</div>`,
  }
}

/** The only page that shows a plaintext key. */
export const createdPage = (name: string, plaintext: string, { say }: Writer): Page => ({
  title: say.created.title(name),
  content: html`<div class="single panel">
<h1>${say.created.title(name)}</h1>
<p class="notice warn" role="status">${say.created.once}</p>
<p class="label" id="key-label">${say.created.label}</p>
<div class="secret" role="group" aria-labelledby="key-label">
<code id="key">${plaintext}</code>
<button type="button" hidden data-copy="key" data-copied="${say.created.copied}" data-not-copied="${say.created.notCopied}">${say.created.copy}</button>
</div>
<p class="copy-status" role="status" id="copy-status"></p>
<p>${say.created.care}</p>
<p>${say.created.use}</p>
<pre><code>Authorization: Bearer &lt;API_KEY&gt;</code></pre>
<p class="actions"><a class="button primary" href="/keys">${say.created.done}</a></p>
</div>`,
})

/** The answer to a form that was sent again after its key was shown. */
export const shownAlreadyPage = (key: ListedKey, writer: Writer): Page => {
  const { say } = writer
  return {
    title: say.shownAlready.title(key.name),
    content: html`<div class="single panel">
<h1>${say.shownAlready.title(key.name)}</h1>
${say.shownAlready.texts.map((text) => html`<p>${text}</p>`)}
${keyFacts(key, writer)}
<p class="actions"><a class="button primary" href="/keys">${say.backToKeys}</a></p>
</div>`,
  }
}
