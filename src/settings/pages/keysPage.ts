import { maxKeysPerTeam } from '../../core/model/accountKey.ts'
import { type Html, html } from '../../core/process/html.ts'
import { type CreateForm, createForm } from './createForm.ts'
import { keyList, type ListedKey } from './keyList.ts'
import type { Writer } from './languages.ts'
import type { Page } from './layout.ts'
import type { Messages } from './messages.ts'

export type KeysView = {
  readonly csrf: string
  readonly keys: readonly ListedKey[]
  readonly form: CreateForm
  /** Whether all slots are taken; a key that is being created takes one before it is listed. */
  readonly isFull: boolean
  readonly today: string
  readonly notice: keyof Messages['notices'] | undefined
}

/** The keys of a team and, while a slot is free, the form that creates another one. */
export function keysPage({ csrf, keys, form, isFull, today, notice }: KeysView, writer: Writer): Page {
  const { say } = writer
  return {
    title: say.keys.title,
    content: html`${notice === undefined ? '' : html`<p class="notice" role="status">${say.notices[notice]}</p>`}
<div class="head">
<h1>${say.keys.title}</h1>
<p class="lead">${say.keys.about}</p>
</div>
<div class="columns">
<section aria-labelledby="list-title">
<div class="list-head"><h2 id="list-title">${say.keys.listTitle}</h2>${slots(keys.length, say)}</div>
${keys.length === 0 ? empty(say) : keyList(keys, writer)}
</section>
<div class="side">
${isFull ? full(say) : createForm(form, csrf, today, writer)}
${rotation(say)}
</div>
</div>`,
  }
}

const slots = (held: number, say: Messages): Html => html`<div class="slots">
<span class="slot-dots" aria-hidden="true">${Array.from({ length: maxKeysPerTeam }, (_, at) => html`<i class="${at < held ? 'taken' : ''}"></i>`)}</span>
<p><strong>${say.keys.slots(held, maxKeysPerTeam)}</strong> <span class="muted">${say.keys.slotsRule}</span></p>
</div>`

const empty = (say: Messages): Html =>
  html`<div class="panel empty"><h3>${say.keys.none.title}</h3><p>${say.keys.none.text}</p></div>`

const full = (say: Messages): Html =>
  html`<section class="panel full"><h2>${say.create.full.title}</h2><p>${say.create.full.text}</p></section>`

const rotation = (say: Messages): Html =>
  html`<section class="rotation"><h2>${say.rotation.title}</h2><ol>${say.rotation.steps.map((step) => html`<li>${step}</li>`)}</ol></section>`
