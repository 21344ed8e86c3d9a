import { isDeepStrictEqual } from 'node:util'
import { type AccountKeyState, accountKeyValue } from '../../src/core/model/accountKey.ts'
import { documentId, type EntityId, type TeamId } from '../../src/core/model/ids.ts'
import type { KeyHolder } from '../../src/core/stores/accountKeyStore.ts'
import type { AccountKeySurvey } from '../../src/core/stores/accountKeySurvey.ts'
import type { AccountKeyFold } from './accountKeyFold.ts'
import type { Difference, DifferenceKind } from './difference.ts'

/** Compares the account-key store with the fold of the topic; with a team only that team's keys. By a name that is the same next time. */
export function compareAccountKeys(
  fold: AccountKeyFold,
  stored: AccountKeySurvey,
  team: TeamId | undefined,
): Map<string, Difference> {
  const differences = new Map<string, Difference>()
  const add = (kind: DifferenceKind, teamId: TeamId, keyId: EntityId, detail: string): void => {
    if (team !== undefined && teamId !== team) return
    const difference: Difference = { kind, team: teamId, id: keyId, where: 'account-keys', detail }
    const name = `${kind} ${documentId(teamId, keyId)}`
    if (!differences.has(name)) differences.set(name, difference)
  }
  compareClaims(fold, stored, add)
  compareStates(fold, stored, add)
  return differences
}

type Add = (kind: DifferenceKind, teamId: TeamId, keyId: EntityId, detail: string) => void

function compareClaims(fold: AccountKeyFold, { claims }: AccountKeySurvey, add: Add): void {
  const expected = fold.claims()
  for (const [digest, [found, ...others]] of claims) {
    if (found === undefined || others.length > 0) continue
    const claimants = expected.get(digest) ?? []
    const allowed = claimants.length === 1 ? (claimants[0] ?? []) : []
    if (allowed.some((each) => isDeepStrictEqual(each, found))) continue
    const { teamId, keyId } = found
    const known = allowed[0] === undefined ? 'nobody may use its digest' : `the topic says ${describe(allowed[0])}`
    const kind = isAccepted(found, allowed) ? 'key-accepted' : 'key-differs'
    add(kind, teamId, keyId, `${describe(found)} in Redis, ${known}`)
  }
  for (const [digest, claimants] of expected) {
    const names = claimants.flatMap(([holder]) => (holder ? [documentId(holder.teamId, holder.keyId)] : []))
    for (const [holder] of claimants) {
      if (holder === undefined) continue
      if (claimants.length > 1)
        add('key-contested', holder.teamId, holder.keyId, `opens nothing: ${names.join(', ')} claim one digest`)
      else if (claims.get(digest)?.length !== 1)
        add('key-missing', holder.teamId, holder.keyId, `${describe(holder)} in the topic, no look-up in Redis finds it`)
    }
  }
}

/** Whether Redis accepts a key that the topic does not, or for longer. */
const isAccepted = (found: KeyHolder, allowed: readonly KeyHolder[]): boolean =>
  found.state === 'active' &&
  !allowed.some(
    ({ teamId, keyId, state, expiresAtMs }) =>
      teamId === found.teamId &&
      keyId === found.keyId &&
      state === 'active' &&
      (expiresAtMs ?? Number.POSITIVE_INFINITY) >= (found.expiresAtMs ?? Number.POSITIVE_INFINITY),
  )

const describe = ({ teamId, keyId, state, expiresAtMs }: KeyHolder): string =>
  `${state}${expiresAtMs === null ? '' : ` until ${new Date(expiresAtMs).toISOString()}`} as ${documentId(teamId, keyId)}`

function compareStates(fold: AccountKeyFold, { keys }: AccountKeySurvey, add: Add): void {
  const found = new Map(keys.map(({ teamId, keyId, state }) => [documentId(teamId, keyId), state]))
  for (const { teamId, keyId, newest } of fold.keys()) {
    const id = documentId(teamId, keyId)
    const stored = found.get(id)
    found.delete(id)
    const [known] = newest
    if (known.key === null) {
      if (stored?.key !== null)
        add('key-deletion', teamId, keyId, 'deleted in the topic, not remembered as deleted in Redis')
    } else if (stored === undefined) add('key-missing', teamId, keyId, 'live in the topic, not in Redis')
    else if (stored.key === null) add('key-missing', teamId, keyId, 'live in the topic, deleted in Redis')
    else if (!newest.some((each) => accountKeyValue(each) === accountKeyValue(stored)))
      add('key-differs', teamId, keyId, describeStates(stored, known))
  }
  for (const { teamId, keyId, state } of keys)
    // Redis remembers a deletion whose record Kafka has forgotten.
    if (state.key !== null && found.has(documentId(teamId, keyId)))
      add('key-differs', teamId, keyId, `revision ${state.revision} in Redis, none in the topic`)
}

const describeStates = (stored: AccountKeyState, known: AccountKeyState): string =>
  stored.revision === known.revision
    ? `revision ${stored.revision} differs from its record`
    : `revision ${stored.revision} in Redis, ${known.revision} in the topic`
