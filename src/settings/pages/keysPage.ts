import { maxKeysPerTeam } from '../../core/model/accountKey.ts'
import { type Html, html } from '../../core/process/html.ts'
import type { Messages } from './english.ts'
import { keyList, type ListedKey } from './keyList.ts'
import type { Writer } from './languages.ts'
import { csrfField, type Page } from './layout.ts'

/** Why no key was created, and the form is shown again. */
export type CreateProblem = keyof Messages['create']['problems']

/** What the form is filled in with, and what is wrong with it. */
export type CreateForm = {
  readonly name: string
  readonly expires: string
  /** Idempotency token: a form that is sent twice creates one key. */
  readonly once: string
  readonly problem?: CreateProblem
}

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
    content: html`${notice === undefined ? '' : html`<p class="notice good" role="status">${say.notices[notice]}</p>`}
<div class="head">
<h1>${say.keys.title}</h1>
<p class="lead">${say.keys.about}</p>
</div>
<div class="columns">
<section aria-labelledby="list-title">
<div class="section-head"><h2 id="list-title">${say.keys.listTitle}</h2>${slots(keys.length, say)}</div>
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

/** The form that creates a key; `today` is the first day on which the key may expire. */
function createForm(form: CreateForm, csrf: string, today: string, { say }: Writer): Html {
  const { problem } = form
  return html`<form class="panel create" method="post" action="/keys" aria-labelledby="create-title">
<h2 id="create-title">${say.create.title}</h2>
${problem === undefined ? '' : problemSummary(problem, say)}
${csrfField(csrf)}<input type="hidden" name="once" value="${form.once}">
<div class="field">
<label for="name">${say.create.name}</label>
<input id="name" name="name" value="${form.name}" required autocomplete="off"${describedBy('name', problem)}>
<p class="hint" id="name-hint">${say.create.nameHint}</p>
${problem === 'name' ? html`<p class="wrong" id="name-wrong">${say.create.problems.name}</p>` : ''}
</div>
<div class="field">
<label for="expires">${say.create.expires}</label>
<input id="expires" name="expires" type="date" value="${form.expires}" min="${today}" max="9999-12-31"${describedBy('expires', problem)}>
<p class="hint" id="expires-hint">${say.create.expiresHint}</p>
${problem === 'expires' ? html`<p class="wrong" id="expires-wrong">${say.create.problems.expires}</p>` : ''}
</div>
<button class="primary">${say.create.submit}</button>
</form>`
}

const describedBy = (field: 'name' | 'expires', problem: CreateProblem | undefined): Html =>
  problem === field
    ? html` aria-describedby="${field}-wrong ${field}-hint" aria-invalid="true"`
    : html` aria-describedby="${field}-hint"`

function problemSummary(problem: CreateProblem, say: Messages): Html {
  const text = say.create.problems[problem]
  const isOfField = problem === 'name' || problem === 'expires'
  return html`<div class="summary notice bad" role="alert">${
    isOfField ? html`<p>${say.create.problemsTitle}</p><p><a href="#${problem}">${text}</a></p>` : html`<p>${text}</p>`
  }</div>`
}
