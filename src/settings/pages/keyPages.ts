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
  readonly listedAtMs: number
}

export function listedKey(key: UsedKey, use: ReadKeyUse | undefined, nowMs: number): ListedKey {
  const isExpired = key.expiresAt != null && Date.parse(key.expiresAt) <= nowMs
  const shownState = key.state === 'active' && isExpired ? 'expired' : key.state
  return { ...key, shownState, use, listedAtMs: nowMs }
}

export type CreateFailure = keyof Messages['create']['problems']

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
  /** Undefined when all slots are in use, also by keys in creation, which are not in `keys` yet. */
  readonly form: CreateForm | undefined
  readonly today: string
  readonly notice: keyof Messages['notices'] | undefined
  readonly changes: readonly KeyChange[] | undefined
  readonly notReplaced?: ReplaceFailure | undefined
}

export const keysPage = (view: KeysView, messages: Messages, urlOf: UrlOf): Page => {
  const { csrf, keys, form, today, notice, changes, notReplaced } = view
  return {
    title: messages.keys.title,
    content: html`${notice === undefined ? '' : html`<p role="alert" data-variant="success">${messages.notices[notice]}</p>`}${
      notReplaced === undefined
        ? ''
        : html`<p role="alert" data-variant="danger">${messages.create.notReplaced[notReplaced]}</p>`
    }
<h1>${messages.keys.title}</h1>
<p class="text-light">${messages.keys.about}</p>
<div class="row">
<section class="col-8" aria-labelledby="list-title">
<h2 id="list-title">${messages.keys.listTitle}</h2>
<p class="slots hstack"><meter value="${keys.length}" max="${maxKeysPerTeam}" aria-hidden="true"></meter> <strong>${messages.keys.slots(keys.length, maxKeysPerTeam)}</strong> <span class="text-light">${messages.keys.slotsRule}</span></p>
${
  keys.length === 0
    ? html`<div class="card align-center"><h3>${messages.keys.none.title}</h3><p>${messages.keys.none.text}</p></div>`
    : html`<ul class="unstyled vstack" role="list">${keys.toReversed().map((key) => html`<li>${keyCard(key, view, messages, urlOf)}</li>`)}</ul>`
}
${changeList(changes, messages)}
</section>
<div class="col-4">
${
  form === undefined
    ? html`<section class="card"><h2>${messages.create.full.title}</h2><p>${messages.create.full.text}</p></section>`
    : createForm(form, csrf, today, messages, urlOf)
}
<section class="rotation mt-6"><h2>${messages.rotation.title}</h2><ol class="text-light">${messages.rotation.steps.map((step) => html`<li>${step}</li>`)}</ol></section>
</div>
</div>`,
  }
}

function keyCard(key: ListedKey, { keys, csrf, form, notReplaced }: KeysView, messages: Messages, urlOf: UrlOf): Html {
  const path = urlOf(`/keys/${encodeURIComponent(key.id)}`)
  const isActive = key.shownState === 'active'
  const active = keys.filter(({ shownState }) => shownState === 'active')
  const replacement = isActive ? replacementAmong(key, active) : undefined
  // A replacement that was not created in time (`unfinished`) may be listed by now, but no page has shown its plaintext. Only the same form, sent again, shows it.
  const canBeReplaced = isActive && (replacement === undefined || notReplaced === 'unfinished')
  return html`<article class="key card">
<header class="hstack"><h3>${key.name}</h3>${stateBadge(key, messages)}</header>
${keyFacts(key, messages)}
${replacement === undefined ? '' : html`<p class="replaced">${messages.keys.replaced.by(replacement.name)} <strong>${stillUsed(key, messages)}</strong></p>`}
<div class="hstack">${
    canBeReplaced && form !== undefined
      ? html`<form method="post" action="${path}/replace">${csrfField(csrf)}<input type="hidden" name="once" value="${form.once}"><button class="outline" aria-label="${messages.keys.replaceNamed(key.name)}">${messages.keys.replace}</button></form>`
      : ''
  } ${
    key.shownState === 'revoked'
      ? ''
      : html`<a class="button outline" href="${path}/revoke" aria-label="${messages.keys.revokeNamed(key.name)}">${messages.keys.revoke}</a>`
  } <a class="button outline" data-variant="danger" href="${path}/delete" aria-label="${messages.keys.deleteNamed(key.name)}">${messages.keys.delete}</a></div>
</article>`
}

const variants = { active: 'success', expired: 'warning', revoked: 'secondary' } as const

const stateBadge = ({ shownState }: ListedKey, messages: Messages): Html =>
  html`<span class="badge" data-variant="${variants[shownState]}">${messages.keys.states[shownState]}</span>`

function keyFacts(key: ListedKey, messages: Messages): Html {
  const { lastUsedAt, expiresAt, revokedAt, use, listedAtMs } = key
  return html`<dl class="facts">
<div><dt>${messages.keys.start}</dt><dd><code>${key.start ?? ''}…</code></dd></div>
<div><dt>${messages.keys.lastUsed}</dt><dd>${lastUsedAt === null ? messages.keys.neverUsed : timeIn(messages, lastUsedAt)}</dd></div>
${use === undefined ? '' : useFacts(use, key.shownState === 'active', listedAtMs, messages)}
<div><dt>${messages.keys.created}</dt><dd>${timeIn(messages, key.createdAt)} <small class="text-light">${messages.keys.createdBy(key.createdBy)}</small></dd></div>
${
  revokedAt == null
    ? html`<div><dt>${messages.keys.expires}</dt><dd>${expiresAt == null ? messages.keys.neverExpires : timeIn(messages, expiresAt)}</dd></div>`
    : html`<div><dt>${messages.keys.revoked}</dt><dd>${timeIn(messages, revokedAt)}</dd></div>`
}
</dl>`
}

function createForm(form: CreateForm, csrf: string, today: string, messages: Messages, urlOf: UrlOf): Html {
  const { create } = messages
  // The key may exist by now. The form, sent again with the same token, returns this key: an edited name or expiry would be ignored.
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
  return html`<form class="create card" method="post" action="${urlOf('/keys')}" aria-labelledby="create-title">
<h2 id="create-title">${create.title}</h2>
${form.problem === undefined ? '' : problemSummary(form.problem, messages)}
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

export function confirmPage(
  change: 'revoke' | 'delete',
  key: ListedKey,
  csrf: string,
  messages: Messages,
  urlOf: UrlOf,
): Page {
  const { consequence, cancel, [change]: texts } = messages.confirm
  const title = texts.title(key.name)
  return {
    title,
    content: html`<div class="single card">
<header class="hstack"><h1>${title}</h1>${stateBadge(key, messages)}</header>
${keyFacts(key, messages)}
<ul><li>${consequence}</li><li>${texts.effect}</li></ul>
<form method="post" action="${urlOf(`/keys/${encodeURIComponent(key.id)}/${change}`)}" class="hstack">
${csrfField(csrf)}<button data-variant="danger">${texts.submit}</button>
<a class="button outline" href="${urlOf('/keys')}">${cancel}</a>
</form>
</div>`,
  }
}

/** The only page that shows a plaintext key. */
export const createdPage = (
  name: string,
  plaintext: string,
  replaced: string | undefined,
  messages: Messages,
  urlOf: UrlOf,
): Page => ({
  title: messages.created.title(name),
  content: html`<div class="single card">
<h1>${messages.created.title(name)}</h1>
<p role="alert" data-variant="warning">${messages.created.once}</p>
<h2 id="key-label">${messages.created.label}</h2>
<div class="secret hstack" role="group" aria-labelledby="key-label">
<code id="key">${plaintext}</code>
<button type="button" hidden data-copy="key" data-copied="${messages.created.copied}" data-not-copied="${messages.created.notCopied}">${messages.created.copy}</button>
</div>
<p class="copy-status" role="status" id="copy-status"></p>
<p>${messages.created.care}</p>
<p>${messages.created.use}</p>
<pre><code>Authorization: Bearer &lt;API_KEY&gt;</code></pre>
${replaced === undefined ? '' : html`<p>${messages.created.replaces(replaced)}</p>`}
<p><a class="button" href="${urlOf('/keys')}">${messages.created.done}</a></p>
</div>`,
})
