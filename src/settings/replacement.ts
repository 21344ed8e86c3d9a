import { type AccountKey, maxNameCharacters } from '../core/model/accountKey.ts'
import { clampToInstants, toInstant } from '../core/model/instant.ts'

/* A replacement is a new key with the same name and the present day: `Nightly export (2026-11-21)`. */

const daySuffix = / \(\d{4}-\d\d-\d\d\)$/
const dayMs = 86_400_000
const daySuffixLength = ' (2026-11-21)'.length

/** What a key's name has in common with its replacements. */
const stemOf = (name: string): string =>
  [...name.replace(daySuffix, '')].slice(0, maxNameCharacters - daySuffixLength).join('')

/** `expires`: the last day; empty for none. A replacement works for as many days as the replaced key. */
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

/** The newest, recognised by its name, because nothing else states what a key was created for. `keys`: active, oldest first. */
export const replacementAmong = <Key extends Pick<AccountKey, 'name' | 'createdAt'>>(
  key: Pick<AccountKey, 'name' | 'createdAt'>,
  keys: readonly Key[],
): Key | undefined =>
  keys.findLast(
    ({ name, createdAt }) => createdAt > key.createdAt && daySuffix.test(name) && stemOf(name) === stemOf(key.name),
  )
