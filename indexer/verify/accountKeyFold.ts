import type { SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { type AccountKeyState, accountKeyValue } from '../../src/core/model/accountKey.ts'
import { type Digest, type DocumentId, documentId, type EntityId, type TeamId } from '../../src/core/model/ids.ts'
import { readAccountKeyRecord } from '../../src/core/model/record.ts'
import { holderOf, type KeyHolder } from '../../src/core/stores/accountKeyStore.ts'

export type FoldedKey = {
  readonly teamId: TeamId
  readonly keyId: EntityId
  /** The newest states: several when two writers made one revision at once. */
  readonly newest: readonly [AccountKeyState, ...AccountKeyState[]]
}

/**
 * What the account-key store must hold, by the rules of its scripts (`accountKeyScripts.ts`), whatever the order of the records: a
 * deletion beats all, then the highest revision, then the revocation; a digest that several live keys claim opens none of them.
 */
export class AccountKeyFold {
  readonly #keys = new Map<DocumentId, FoldedKey>()

  /** Applies a record of `account-keys`; a dead letter changes nothing. */
  apply(record: SourceRecord): void {
    const read = readAccountKeyRecord(record.key, record.value)
    if (!read.ok) return
    const { teamId, entityId: keyId, revision, key } = read.value
    const id = documentId(teamId, keyId)
    const state = { revision, key }
    const known = this.#keys.get(id)
    const order = known === undefined ? 1 : compareStates(state, known.newest[0])
    if (order > 0) this.#keys.set(id, { teamId, keyId, newest: [state] })
    else if (order === 0 && known !== undefined) {
      const isKnown = known.newest.some((each) => accountKeyValue(each) === accountKeyValue(state))
      if (!isKnown) this.#keys.set(id, { teamId, keyId, newest: [...known.newest, state] })
    }
  }

  /** Every key, deleted ones included. */
  keys(): readonly FoldedKey[] {
    return [...this.#keys.values()]
  }

  /** For each digest the live keys that claim it, each by the holders that a look-up may find. */
  claims(): ReadonlyMap<Digest, readonly (readonly KeyHolder[])[]> {
    const claims = new Map<Digest, KeyHolder[][]>()
    for (const { teamId, keyId, newest } of this.#keys.values()) {
      const live = newest.flatMap(({ key }) => (key === null ? [] : [key]))
      for (const digest of new Set(live.map((key) => key.digest))) {
        const holders = live.filter((key) => key.digest === digest).map((key) => holderOf(teamId, keyId, key))
        claims.set(digest, [...(claims.get(digest) ?? []), holders])
      }
    }
    return claims
  }
}

/** Positive when `a` is newer than `b`: deleted, else by revision, then by being revoked. Two deletions are equal. */
function compareStates(a: AccountKeyState, b: AccountKeyState): number {
  if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null)
  return a.revision - b.revision || Number(a.key.state === 'revoked') - Number(b.key.state === 'revoked')
}
