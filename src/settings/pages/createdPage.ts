import { html } from 'hono/html'
import type { ListedKey } from '../listedKey.ts'
import { keyFacts } from './keyList.ts'
import type { Page, Writer } from './layout.ts'

/** The one page that holds a plaintext key. */
export const createdPage = (name: string, plaintext: string, { say }: Writer): Page => ({
  title: say.created.title(name),
  content: html`<div class="single panel">
<h1>${say.created.title(name)}</h1>
<p class="notice strong" role="status">${say.created.once}</p>
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

/** For a form that is sent again when its key has been shown. */
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
