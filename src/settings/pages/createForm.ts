import { type Html, html } from '../../core/process/html.ts'
import type { Writer } from './languages.ts'
import { csrfField } from './layout.ts'

/** Why no key was created, and the form is shown again. */
export type CreateProblem = 'name' | 'expires' | 'deleted' | 'unfinished'

/** What the form is filled in with, and what is wrong with it. */
export type CreateForm = {
  readonly name: string
  readonly expires: string
  /** Idempotency token: a form that is sent twice creates one key. */
  readonly once: string
  readonly problem?: CreateProblem
}

/** The form that creates a key; `today` is the first day on which the key may expire. */
export function createForm(form: CreateForm, csrf: string, today: string, { say }: Writer): Html {
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

function problemSummary(problem: CreateProblem, say: Writer['say']): Html {
  switch (problem) {
    case 'name':
    case 'expires':
      return html`<div class="summary" role="alert"><p>${say.create.problemsTitle}</p><p><a href="#${problem}">${say.create.problems[problem]}</a></p></div>`
    case 'deleted':
      return html`<div class="summary" role="alert"><p>${say.create.wasDeleted}</p></div>`
    case 'unfinished':
      return html`<div class="summary" role="alert"><p>${say.create.unfinished}</p></div>`
  }
}
