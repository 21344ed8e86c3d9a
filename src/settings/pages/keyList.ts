import type { EntityId } from '../../core/model/ids.ts'
import type { Instant } from '../../core/model/instant.ts'
import { type Html, html } from '../../core/process/html.ts'
import type { StoredKey } from '../../core/stores/accountKeyStore.ts'
import type { Writer } from './languages.ts'

type KeyState = 'active' | 'expired' | 'revoked'

/** A stored key as pages show it. */
export type ListedKey = StoredKey & { readonly shownState: KeyState; readonly lastUsed: Instant | undefined }

export const listedKey = (key: StoredKey, lastUse: ReadonlyMap<EntityId, Instant>, nowMs: number): ListedKey => ({
  ...key,
  shownState: stateOf(key, nowMs),
  lastUsed: lastUse.get(key.id as EntityId),
})

function stateOf({ state, expiresAt }: StoredKey, nowMs: number): KeyState {
  if (state === 'revoked') return 'revoked'
  return expiresAt != null && Date.parse(expiresAt) <= nowMs ? 'expired' : 'active'
}

/** All keys of a team, newest first, with links to revoke and delete them. */
export const keyList = (keys: readonly ListedKey[], writer: Writer): Html =>
  html`<ul role="list">${keys.toReversed().map((key) => html`<li>${keyCard(key, writer)}</li>`)}</ul>`

/** The details by which a person recognises a key. */
export const keyFacts = (key: ListedKey, { say, at }: Writer): Html => {
  const { lastUsed, expiresAt, revokedAt, shownState } = key
  const expiryTerm = shownState === 'expired' ? say.keys.expired : say.keys.expires
  return html`<dl class="facts">
<div><dt>${say.keys.start}</dt><dd><code>${key.start ?? ''}…</code></dd></div>
<div><dt>${say.keys.lastUsed}</dt><dd>${lastUsed === undefined ? say.keys.neverUsed : at.ago(lastUsed)}</dd></div>
<div><dt>${say.keys.created}</dt><dd>${at.exact(key.createdAt)} <span class="who">${say.keys.createdBy(key.createdBy)}</span></dd></div>
${
  revokedAt == null
    ? html`<div><dt>${expiryTerm}</dt><dd>${expiresAt == null ? say.keys.neverExpires : at.exact(expiresAt)}</dd></div>`
    : html`<div><dt>${say.keys.revoked}</dt><dd>${at.exact(revokedAt)}</dd></div>`
}
</dl>`
}

const tones = { active: 'good', expired: 'warn', revoked: 'idle' } as const satisfies Record<KeyState, string>

export const stateBadge = (state: KeyState, { say }: Writer): Html =>
  html`<span class="badge ${tones[state]}">${say.keys.states[state]}</span>`

function keyCard(key: ListedKey, writer: Writer): Html {
  const { say } = writer
  const path = `/keys/${encodeURIComponent(key.id)}`
  return html`<article class="key panel">
<header><h3>${key.name}</h3>${stateBadge(key.shownState, writer)}</header>
${keyFacts(key, writer)}
<p class="actions">${
    key.shownState === 'revoked'
      ? ''
      : html`<a class="button" href="${path}/revoke" aria-label="${say.keys.revokeNamed(key.name)}">${say.keys.revoke}</a>`
  } <a class="button danger" href="${path}/delete" aria-label="${say.keys.deleteNamed(key.name)}">${say.keys.delete}</a></p>
</article>`
}
