import { isDeepStrictEqual } from 'node:util'
import { type AccountKeyState, accountKeyValue } from '../../src/core/model/accountKey.ts'
import { documentId, type EntityId, type TeamId } from '../../src/core/model/ids.ts'
import type { AccountKeySurvey, KeyHolder } from '../../src/core/stores/accountKeyStore.ts'
import type { AccountKeyFold, FoldedKey } from './accountKeyFold.ts'
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
  for (const [digest, found] of claims) compareOpened(opens(found), opens(expected.get(digest)) ?? [], add)
  for (const [digest, claimants] of expected) {
    const holders = claimants.flatMap(([holder]) => holder ?? [])
    const names = holders.map(({ teamId, keyId }) => documentId(teamId, keyId)).join(', ')
    for (const holder of holders) {
      const { teamId, keyId } = holder
      if (holders.length > 1) add('key-contested', teamId, keyId, `opens nothing: ${names} claim one digest`)
      else if (opens(claims.get(digest)) === undefined)
        add('key-missing', teamId, keyId, `${describe(holder)} in the topic, no look-up in Redis finds it`)
    }
  }
}

/** The one of a digest's claims that a look-up finds. */
const opens = <T>(claims: readonly T[] = []): T | undefined => (claims.length === 1 ? claims[0] : undefined)

function compareOpened(found: KeyHolder | undefined, allowed: readonly KeyHolder[], add: Add): void {
  if (found === undefined || allowed.some((each) => isDeepStrictEqual(each, found))) return
  const known = allowed[0] === undefined ? 'nobody may use its digest' : `the topic says ${describe(allowed[0])}`
  const kind = isAccepted(found, allowed) ? 'key-accepted' : 'key-differs'
  add(kind, found.teamId, found.keyId, `${describe(found)} in Redis, ${known}`)
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
    const problem = problemOf(found.get(documentId(teamId, keyId)), newest)
    if (problem !== undefined) add(problem[0], teamId, keyId, problem[1])
  }
  const known = new Set(fold.keys().map(({ teamId, keyId }) => documentId(teamId, keyId)))
  // Redis remembers a deletion whose record Kafka has forgotten.
  for (const { teamId, keyId, state } of keys)
    if (state.key !== null && !known.has(documentId(teamId, keyId)))
      add('key-differs', teamId, keyId, `revision ${state.revision} in Redis, none in the topic`)
}

function problemOf(
  stored: AccountKeyState | undefined,
  newest: FoldedKey['newest'],
): readonly [DifferenceKind, string] | undefined {
  const [known] = newest
  if (known.key === null)
    return stored?.key === null
      ? undefined
      : ['key-deletion', 'deleted in the topic, not remembered as deleted in Redis']
  if (stored === undefined) return ['key-missing', 'live in the topic, not in Redis']
  if (stored.key === null) return ['key-missing', 'live in the topic, deleted in Redis']
  const isKnown = newest.some((each) => accountKeyValue(each) === accountKeyValue(stored))
  return isKnown ? undefined : ['key-differs', describeStates(stored, known)]
}

const describeStates = (stored: AccountKeyState, known: AccountKeyState): string =>
  stored.revision === known.revision
    ? `revision ${stored.revision} differs from its record`
    : `revision ${stored.revision} in Redis, ${known.revision} in the topic`
