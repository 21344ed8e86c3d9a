import { isDeepStrictEqual } from 'node:util'
import { documentId, type EntityId, type TeamId } from '../../src/core/model/ids.ts'
import type { KeyHolder, StoredKey } from '../../src/core/stores/accountKeyStore.ts'
import type { AccountKeySurvey } from '../../src/core/stores/accountKeySurvey.ts'
import type { AccountKeyFold } from './accountKeyFold.ts'
import type { Difference, DifferenceKind } from './difference.ts'

/** What Redis holds: the survey, and which keys of the teams in the fold it remembers as deleted. */
export type StoredAccountKeys = AccountKeySurvey & {
  readonly deleted: ReadonlyMap<TeamId, ReadonlySet<EntityId>>
}

/** Compares the account-key store with the fold of the topics; with a team only that team's keys. By a name that is the same next time. */
export function compareAccountKeys(
  fold: AccountKeyFold,
  stored: StoredAccountKeys,
  team: TeamId | undefined,
): Map<string, Difference> {
  const differences = new Map<string, Difference>()
  const add = (kind: DifferenceKind, teamId: TeamId, keyId: EntityId, detail: string): void => {
    if (team !== undefined && teamId !== team) return
    const difference: Difference = { kind, team: teamId, id: keyId, where: 'account-keys', detail }
    const name = `${kind} ${documentId(teamId, keyId)}`
    if (!differences.has(name)) differences.set(name, difference)
  }
  compareHolders(fold, stored, add)
  compareStates(fold, stored, add)
  for (const [teamId, keyIds] of fold.deleted)
    for (const keyId of keyIds)
      if (stored.deleted.get(teamId)?.has(keyId) !== true)
        add('key-deletion', teamId, keyId, 'deleted in the topics, not remembered as deleted in Redis')
  return differences
}

type Add = (kind: DifferenceKind, teamId: TeamId, keyId: EntityId, detail: string) => void

function compareHolders(fold: AccountKeyFold, { holders }: StoredAccountKeys, add: Add): void {
  const expected = fold.holders()
  for (const [digest, found] of holders) {
    const allowed = expected.get(digest) ?? []
    if (allowed.some((each) => isDeepStrictEqual(each, found))) continue
    const { teamId, keyId } = found
    const known = allowed[0]
    const detail = known === undefined ? 'no key in the topics has its digest' : `the topics say ${describe(known)}`
    add(
      isAccepted(found, allowed) ? 'key-accepted' : 'key-differs',
      teamId,
      keyId,
      `${describe(found)} in Redis, ${detail}`,
    )
  }
  for (const [digest, [known]] of expected)
    if (known !== undefined && !holders.has(digest))
      add('key-missing', known.teamId, known.keyId, `${describe(known)} in the topics, unknown to look-ups in Redis`)
}

/** Whether Redis accepts a key that the topics do not, or for longer. */
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

function compareStates(fold: AccountKeyFold, { keys, deleted }: StoredAccountKeys, add: Add): void {
  const found = new Map(keys.map(({ teamId, keyId, stored }) => [documentId(teamId, keyId), stored]))
  for (const { teamId, keyId, newest } of fold.live()) {
    const id = documentId(teamId, keyId)
    const stored = found.get(id)
    found.delete(id)
    if (deleted.get(teamId)?.has(keyId) === true)
      add('key-missing', teamId, keyId, 'live in the topics, deleted in Redis')
    else if (stored === undefined) add('key-missing', teamId, keyId, 'live in the topics, not in Redis')
    else if (!newest.some((each) => isDeepStrictEqual(plain(each), plain(stored))))
      add('key-differs', teamId, keyId, describeStates(stored, newest[0]))
  }
  for (const { teamId, keyId, stored } of keys)
    if (found.has(documentId(teamId, keyId)))
      add('key-differs', teamId, keyId, `revision ${stored.revision} in Redis, none in the topics`)
}

const describeStates = (stored: StoredKey, newest: StoredKey | undefined): string =>
  stored.revision === newest?.revision
    ? `revision ${stored.revision} differs from its record`
    : `revision ${stored.revision} in Redis, ${newest?.revision} in the topics`

/** A key without members that say nothing: the settings area and a record may leave them out or not. */
const plain = (key: StoredKey): object => Object.fromEntries(Object.entries(key).filter(([, value]) => value != null))
