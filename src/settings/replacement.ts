import { type AccountKey, maxNameCharacters } from '../core/model/accountKey.ts'
import { clampToInstants, toInstant } from '../core/model/instant.ts'

/** The day at the end of a replacement's name, by which it differs from the key that it replaces. */
const daySuffix = / \(\d{4}-\d\d-\d\d\)$/
const dayMs = 86_400_000
const daySuffixLength = ' (2026-11-21)'.length

/** The part of a name that a key has in common with its replacements. */
const stemOf = (name: string): string =>
  [...name.replace(daySuffix, '')].slice(0, maxNameCharacters - daySuffixLength).join('')

/**
 * Name and last day (empty: none) of a key that replaces another one. It has the same name with the present day, and works for as many days as the
 * replaced key from its creation on.
 */
export function replacementOf(
  { name, createdAt, expiresAt }: Pick<AccountKey, 'name' | 'createdAt' | 'expiresAt'>,
  nowMs: number,
): { readonly name: string; readonly expires: string } {
  // Whole days, because a key works until the end of its last day: otherwise each replacement would work a day longer.
  const days = expiresAt == null ? undefined : Math.floor((Date.parse(expiresAt) - Date.parse(createdAt)) / dayMs)
  return {
    name: `${stemOf(name)} (${dayOf(nowMs)})`,
    expires: days === undefined ? '' : dayOf(clampToInstants(nowMs + Math.max(0, days) * dayMs)),
  }
}

const dayOf = (epochMs: number): string => toInstant(epochMs).slice(0, '2026-11-21'.length)

/** The newest of `keys` that replaces a key, by its name: nothing else tells what a key was created for. `keys` are active, the oldest first. */
export const replacementAmong = <Key extends Pick<AccountKey, 'name' | 'createdAt'>>(
  key: Pick<AccountKey, 'name' | 'createdAt'>,
  keys: readonly Key[],
): Key | undefined =>
  keys.findLast(
    ({ name, createdAt }) => createdAt > key.createdAt && daySuffix.test(name) && stemOf(name) === stemOf(key.name),
  )
