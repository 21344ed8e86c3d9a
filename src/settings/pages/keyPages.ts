import { maxKeysPerTeam } from '../../core/model/accountKey.ts'
import { type Html, html } from '../../core/pages/html.ts'
import type { ReadKeyUse } from '../../core/redis/readKeyUse.ts'
import type { UsedKey } from '../accountKeyManager.ts'
import type { KeyChange } from '../keyAudit.ts'
import { replacementAmong } from '../replacement.ts'
import { changeList } from './changeList.ts'
import type { Messages } from './english.ts'
import { stillUsed, useFacts } from './keyUse.ts'
import { csrfField, type Page, timeIn, type UrlOf } from './parts.ts'

export type ListedKey = UsedKey & {
  readonly shownState: 'active' | 'expired' | 'revoked'
  /** Undefined if it could not be read. */
  readonly use: ReadKeyUse | undefined
  /** When the key was listed (epoch ms). */
  readonly listedAtMs: number
}

export function listedKey(key: UsedKey, use: ReadKeyUse | undefined, nowMs: number): ListedKey {
  const isExpired = key.expiresAt != null && Date.parse(key.expiresAt) <= nowMs
  const shownState = key.state === 'active' && isExpired ? 'expired' : key.state
  return { ...key, shownState, use, listedAtMs: nowMs }
}

export type CreateFailure = keyof Messages['create']['problems']

/** The reason why a key was not replaced. */
export type ReplaceFailure = keyof Messages['create']['notReplaced']

export type CreateForm = {
  readonly name: string
  readonly expires: string
  /** Idempotency token: a form that is sent twice creates one key. */
  readonly once: string
  readonly problem?: CreateFailure
}

type KeysView = {
  readonly csrf: string
  readonly keys: readonly ListedKey[]
  /** Undefined when all slots are in use. A key that is being created uses a slot before it is in `keys`. */
  readonly form: CreateForm | undefined
  /** The first day on which a new key may expire. */
  readonly today: string
  readonly notice: keyof Messages['notices'] | undefined
  /** Newest first; undefined if they could not be read. */
  readonly changes: readonly KeyChange[] | undefined
  /** Why the key was not replaced that was to be. */
  readonly notReplaced?: ReplaceFailure | undefined
}

export const keysPage = (view: KeysView, say: Messages, at: UrlOf): Page => {
  const { csrf, keys, form, today, notice, changes, notReplaced } = view
  return {
    title: say.keys.title,
    content: html`${notice === undefined ? '' : html`<p role="alert" data-variant="success">${say.notices[notice]}</p>`}${
      notReplaced === undefined
        ? ''
        : html`<p role="alert" data-variant="danger">${say.create.notReplaced[notReplaced]}</p>`
    }
<h1>${say.keys.title}</h1>
<p class="text-light">${say.keys.about}</p>
<div class="row">
<section class="col-8" aria-labelledby="list-title">
<h2 id="list-title">${say.keys.listTitle}</h2>
<p class="slots hstack"><meter value="${keys.length}" max="${maxKeysPerTeam}" aria-hidden="true"></meter> <strong>${say.keys.slots(keys.length, maxKeysPerTeam)}</strong> <span class="text-light">${say.keys.slotsRule}</span></p>
${
  keys.length === 0
    ? html`<div class="card align-center"><h3>${say.keys.none.title}</h3><p>${say.keys.none.text}</p></div>`
    : html`<ul class="unstyled vstack" role="list">${keys.toReversed().map((key) => html`<li>${keyCard(key, view, say, at)}</li>`)}</ul>`
}
${changeList(changes, say)}
</section>
<div class="col-4">
${
  form === undefined
    ? html`<section class="card"><h2>${say.create.full.title}</h2><p>${say.create.full.text}</p></section>`
    : createForm(form, csrf, today, say, at)
}
<section class="rotation mt-6"><h2>${say.rotation.title}</h2><ol class="text-light">${say.rotation.steps.map((step) => html`<li>${step}</li>`)}</ol></section>
</div>
</div>`,
  }
}

function keyCard(key: ListedKey, { keys, csrf, form, notReplaced }: KeysView, say: Messages, at: UrlOf): Html {
  const path = at(`/keys/${encodeURIComponent(key.id)}`)
  const isActive = key.shownState === 'active'
  const active = keys.filter(({ shownState }) => shownState === 'active')
  const replacement = isActive ? replacementAmong(key, active) : undefined
  // An unfinished replacement may be listed already, but only its form, sent again, can show its plaintext.
  const canBeReplaced = isActive && (replacement === undefined || notReplaced === 'unfinished')
  return html`<article class="key card">
<header class="hstack"><h3>${key.name}</h3>${stateBadge(key, say)}</header>
${keyFacts(key, say)}
${replacement === undefined ? '' : html`<p class="replaced">${say.keys.replaced.by(replacement.name)} <strong>${stillUsed(key, say)}</strong></p>`}
<div class="hstack">${
    canBeReplaced && form !== undefined
      ? html`<form method="post" action="${path}/replace">${csrfField(csrf)}<input type="hidden" name="once" value="${form.once}"><button class="outline" aria-label="${say.keys.replaceNamed(key.name)}">${say.keys.replace}</button></form>`
      : ''
  } ${
    key.shownState === 'revoked'
      ? ''
      : html`<a class="button outline" href="${path}/revoke" aria-label="${say.keys.revokeNamed(key.name)}">${say.keys.revoke}</a>`
  } <a class="button outline" data-variant="danger" href="${path}/delete" aria-label="${say.keys.deleteNamed(key.name)}">${say.keys.delete}</a></div>
</article>`
}

const variants = { active: 'success', expired: 'warning', revoked: 'secondary' } as const

const stateBadge = ({ shownState }: ListedKey, say: Messages): Html =>
  html`<span class="badge" data-variant="${variants[shownState]}">${say.keys.states[shownState]}</span>`

function keyFacts(key: ListedKey, say: Messages): Html {
  const { lastUsedAt, expiresAt, revokedAt, use, listedAtMs } = key
  return html`<dl class="facts">
<div><dt>${say.keys.start}</dt><dd><code>${key.start ?? ''}…</code></dd></div>
<div><dt>${say.keys.lastUsed}</dt><dd>${lastUsedAt === null ? say.keys.neverUsed : timeIn(say, lastUsedAt)}</dd></div>
${use === undefined ? '' : useFacts(use, key.shownState === 'active', listedAtMs, say)}
<div><dt>${say.keys.created}</dt><dd>${timeIn(say, key.createdAt)} <small class="text-light">${say.keys.createdBy(key.createdBy)}</small></dd></div>
${
  revokedAt == null
    ? html`<div><dt>${say.keys.expires}</dt><dd>${expiresAt == null ? say.keys.neverExpires : timeIn(say, expiresAt)}</dd></div>`
    : html`<div><dt>${say.keys.revoked}</dt><dd>${timeIn(say, revokedAt)}</dd></div>`
}
</dl>`
}

function createForm(form: CreateForm, csrf: string, today: string, say: Messages, at: UrlOf): Html {
  const { create } = say
  // With the same token, the form creates the same key even if name and expiry differ, so they must not be edited.
  const fixed = form.problem === 'unfinished' ? html` readonly` : ''
  const field = (name: 'name' | 'expires', input: Html, label: string, hint: string): Html => {
    const isWrong = form.problem === name
    return html`<div data-field="${isWrong ? 'error' : ''}">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" value="${form[name]}"${input}${fixed} aria-describedby="${isWrong ? `${name}-wrong ` : ''}${name}-hint"${isWrong ? html` aria-invalid="true"` : ''}>
<p id="${name}-hint" data-hint>${hint}</p>
${isWrong ? html`<p class="error" id="${name}-wrong">${create.problems[name]}</p>` : ''}
</div>`
  }
  return html`<form class="create card" method="post" action="${at('/keys')}" aria-labelledby="create-title">
<h2 id="create-title">${create.title}</h2>
${form.problem === undefined ? '' : problemSummary(form.problem, say)}
${csrfField(csrf)}<input type="hidden" name="once" value="${form.once}">
${field('name', html` required autocomplete="off"`, create.name, create.nameHint)}
${field('expires', html` type="date" min="${today}" max="9999-12-31"`, create.expires, create.expiresHint)}
<button class="w-100">${create.submit}</button>
</form>`
}

function problemSummary(problem: CreateFailure, { create }: Messages): Html {
  const text = create.problems[problem]
  const isOfField = problem === 'name' || problem === 'expires'
  return html`<div role="alert" data-variant="danger"><p>${
    isOfField ? html`<strong>${create.problemsTitle}</strong> <a href="#${problem}">${text}</a>` : text
  }</p></div>`
}

export function confirmPage(change: 'revoke' | 'delete', key: ListedKey, csrf: string, say: Messages, at: UrlOf): Page {
  const { consequence, cancel, [change]: texts } = say.confirm
  const title = texts.title(key.name)
  return {
    title,
    content: html`<div class="single card">
<header class="hstack"><h1>${title}</h1>${stateBadge(key, say)}</header>
${keyFacts(key, say)}
<ul><li>${consequence}</li><li>${texts.effect}</li></ul>
<form method="post" action="${at(`/keys/${encodeURIComponent(key.id)}/${change}`)}" class="hstack">
${csrfField(csrf)}<button data-variant="danger">${texts.submit}</button>
<a class="button outline" href="${at('/keys')}">${cancel}</a>
</form>
</div>`,
  }
}

/** The only page that shows a plaintext key. `replaced`: the name of the key that it replaces. */
export const createdPage = (
  name: string,
  plaintext: string,
  replaced: string | undefined,
  say: Messages,
  at: UrlOf,
): Page => ({
  title: say.created.title(name),
  content: html`<div class="single card">
<h1>${say.created.title(name)}</h1>
<p role="alert" data-variant="warning">${say.created.once}</p>
<h2 id="key-label">${say.created.label}</h2>
<div class="secret hstack" role="group" aria-labelledby="key-label">
<code id="key">${plaintext}</code>
<button type="button" hidden data-copy="key" data-copied="${say.created.copied}" data-not-copied="${say.created.notCopied}">${say.created.copy}</button>
</div>
<p class="copy-status" role="status" id="copy-status"></p>
<p>${say.created.care}</p>
<p>${say.created.use}</p>
<pre><code>Authorization: Bearer &lt;API_KEY&gt;</code></pre>
${replaced === undefined ? '' : html`<p>${say.created.replaces(replaced)}</p>`}
<p><a class="button" href="${at('/keys')}">${say.created.done}</a></p>
</div>`,
})
