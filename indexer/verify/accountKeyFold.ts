import type { AccountKey } from '../../src/core/model/accountKey.ts'
import { type Digest, type DocumentId, documentId, type EntityId, type TeamId } from '../../src/core/model/ids.ts'
import { type Change, readAccountKeyRecord } from '../../src/core/model/record.ts'
import { readMemoryRecord } from '../../src/core/stores/accountKeyMemory.ts'
import { lastPosition } from '../../src/core/stores/accountKeyScripts.ts'
import {
  type AppendPosition,
  appendPositionOf,
  type KeyHolder,
  type StoredKey,
} from '../../src/core/stores/accountKeyStore.ts'
import type { SourceRecord } from '../../src/core/stores/sourceRecord.ts'
import { storedKey } from '../accountKeys/apply.ts'

type FoldedKey = {
  readonly teamId: TeamId
  readonly keyId: EntityId
  /** The newest states: several when two writers made one revision at once. */
  newest: StoredKey[]
  /** Where the first record with each digest was appended. */
  readonly positions: Map<Digest, AppendPosition>
}

/**
 * What the account-key store must hold, by the rules of its scripts (`accountKeyScripts.ts`), whatever the order of the records: a
 * deletion beats all, then the highest revision, then the revocation; of several keys with one digest the first one holds it.
 */
export class AccountKeyFold {
  readonly #keys = new Map<DocumentId, FoldedKey>()
  readonly #deleted = new Map<TeamId, Set<EntityId>>()

  /** Applies a record of `account-keys`; a dead letter changes nothing. */
  apply(record: SourceRecord): void {
    const read = readAccountKeyRecord(record.key, record.value)
    if (read.ok) this.#apply(read.value, appendPositionOf(record))
  }

  /** Applies a record of the key-memory topic. */
  applyMemory(record: SourceRecord): void {
    const memory = readMemoryRecord(record)
    switch (memory?.kind) {
      case 'deleted':
        this.#delete(memory.teamId, memory.keyId)
        break
      case 'claim':
        claim(this.#keyOf(memory.teamId, memory.keyId), memory.digest, memory.position)
        break
      case 'newest': {
        const read = readAccountKeyRecord(Buffer.from(documentId(memory.teamId, memory.keyId)), memory.value)
        if (read.ok) this.#apply(read.value, lastPosition as AppendPosition)
        break
      }
      case undefined:
        break
    }
  }

  #apply(change: Change<AccountKey>, position: AppendPosition): void {
    const { teamId, entityId } = change
    const stored = storedKey(change)
    if (stored === null) {
      this.#delete(teamId, entityId)
      return
    }
    const key = this.#keyOf(teamId, entityId)
    claim(key, stored.digest, position)
    const order = key.newest[0] === undefined ? 1 : compareStates(stored, key.newest[0])
    if (order > 0) key.newest = [stored]
    else if (order === 0) key.newest.push(stored)
  }

  #keyOf(teamId: TeamId, keyId: EntityId): FoldedKey {
    const id = documentId(teamId, keyId)
    const key = this.#keys.get(id) ?? { teamId, keyId, newest: [], positions: new Map() }
    this.#keys.set(id, key)
    return key
  }

  #delete(teamId: TeamId, keyId: EntityId): void {
    const deleted = this.#deleted.get(teamId) ?? new Set()
    this.#deleted.set(teamId, deleted.add(keyId))
  }

  /** Keys that were deleted, by team. */
  get deleted(): ReadonlyMap<TeamId, ReadonlySet<EntityId>> {
    return this.#deleted
  }

  /** Every key that was not deleted, with its newest states. */
  live(): FoldedKey[] {
    return [...this.#keys.values()].filter(
      ({ teamId, keyId, newest }) => newest.length > 0 && this.#deleted.get(teamId)?.has(keyId) !== true,
    )
  }

  /** The states in which the first key with each digest may be stored. */
  holders(): Map<Digest, KeyHolder[]> {
    const first = new Map<Digest, { readonly claim: string; readonly holders: KeyHolder[] }>()
    for (const { teamId, keyId, newest, positions } of this.live()) {
      for (const digest of new Set(newest.map((each) => each.digest))) {
        const its = `${positions.get(digest) ?? lastPosition} ${documentId(teamId, keyId)}`
        if (its > (first.get(digest)?.claim ?? '~')) continue
        const states = newest.filter((each) => each.digest === digest)
        first.set(digest, { claim: its, holders: states.map((stored) => holderOf(teamId, keyId, stored)) })
      }
    }
    return new Map([...first].map(([digest, { holders }]) => [digest, holders]))
  }
}

function claim({ positions }: FoldedKey, digest: Digest, position: AppendPosition): void {
  const known = positions.get(digest)
  if (known === undefined || position < known) positions.set(digest, position)
}

/** Positive when `a` is newer than `b`: by revision, then by being revoked. */
const compareStates = (a: StoredKey, b: StoredKey): number =>
  a.revision - b.revision || Number(a.state === 'revoked') - Number(b.state === 'revoked')

const holderOf = (teamId: TeamId, keyId: EntityId, { state, expiresAt }: StoredKey): KeyHolder => ({
  teamId,
  keyId,
  state,
  expiresAtMs: expiresAt == null ? null : Date.parse(expiresAt),
})
