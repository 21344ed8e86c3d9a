import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'
import type { Served } from '../core/json/scanner.ts'
import type { Branded, EntityType, TeamId } from '../core/model/ids.ts'
import type { LogPosition } from '../core/model/logPosition.ts'
import { attempt } from '../core/model/schema.ts'
import type { ListVersion } from '../core/redis/listVersions.ts'
import type { VisibleList } from '../core/redis/readVisiblePositions.ts'
import type { CursorKey } from '../core/redis/visiblePositions.ts'

/*
 * A cursor, in base64url:
 *
 *   `TM` (2 bytes) | format (1) | entity type (1) | id of the key (4) | initialisation vector (12) | ciphertext of AES-256-GCM | tag (16)
 *
 * It is sealed, because offsets tell how much all teams of the platform send. Format, type and id of the key are readable, so that a cursor of a
 * later release, of the other list and of an unknown generation can be told from a damaged one.
 */
const magic = Buffer.from('TM')
const format = 1
/** What later releases may use. Other first bytes are no cursor's. */
const lastFormat = 15
const typeCodes: Readonly<Record<EntityType, number>> = { forms: 0, submissions: 1 }
const keyIdBytes = 4
const headBytes = magic.length + 2 + keyIdBytes
const ivBytes = 12
const tagBytes = 16

/** The longest cursor, in characters. One of 200 partitions takes less than 3 KiB. */
export const maxCursorCharacters = 4_096

/** A hash of the version of a list: 96 bits in base64url. */
export type VersionHash = Branded<string, 'VersionHash'>
const versionBytes = 12

export const hashVersion = (version: ListVersion): VersionHash =>
  hash('sha256', version, 'buffer').subarray(0, versionBytes).toString('base64url') as VersionHash

/** Offsets by partition: everything below them. Partitions that were added to the topic later are missing, and begin at 0. */
export type Offsets = readonly number[]

/** How far a client has read a list. */
export type ChangeCursor = {
  /** The version of the list that was read with the target of the last walk. */
  readonly version: VersionHash
  /** The client has every change below. */
  readonly since: Offsets
  readonly walk: Walk | undefined
}

/** A walk that is not finished. */
export type Walk = {
  /** The walk reads from `since` to below these, which are nowhere lower. */
  readonly target: Offsets
  /** Changes below this position, in the order of positions, were answered. */
  readonly next: LogPosition
  /** Of rows that share this position, those up to this one in the order of the list were answered, too. */
  readonly after: string | undefined
  /** A walk from the beginning names no deletions. */
  readonly isFirst: boolean
}

/** What a cursor is issued for, and accepted for. */
export type CursorScope = {
  readonly type: EntityType
  readonly teamId: TeamId
  readonly view: 'summary' | 'full'
  readonly fields: Served | undefined
}

/** Names a cursor key: the first bytes of its SHA-256. */
export type CursorKeyId = Branded<string, 'CursorKeyId'>

export const keyIdOf = (key: CursorKey): CursorKeyId => idBytesOf(key).toString('hex') as CursorKeyId

const idBytesOf = (key: CursorKey): Buffer => hash('sha256', bytesOf(key), 'buffer').subarray(0, keyIdBytes)
const bytesOf = (key: CursorKey): Buffer => Buffer.from(key, 'base64')

/** Seals a cursor with the key of the generation that it was read from. Throws for a cursor that would be too long. `iv`: 12 random bytes. */
export function sealCursor(
  cursor: ChangeCursor,
  key: CursorKey,
  scope: CursorScope,
  iv: Buffer = randomBytes(ivBytes),
): string {
  const head = Buffer.concat([magic, Buffer.of(format, typeCodes[scope.type]), idBytesOf(key)])
  const cipher = createCipheriv('aes-256-gcm', bytesOf(key), iv).setAAD(boundTo(head, scope))
  const sealed = Buffer.concat([head, iv, cipher.update(contentOf(cursor)), cipher.final(), cipher.getAuthTag()])
  const text = sealed.toString('base64url')
  if (text.length > maxCursorCharacters)
    throw new Error(`a cursor of ${cursor.since.length} partitions takes more than ${maxCursorCharacters} characters`)
  return text
}

/** A cursor from which on everything follows that is not visible yet. */
export const cursorNow = (visible: VisibleList, scope: CursorScope): string =>
  sealCursor(
    { version: hashVersion(visible.version), since: offsetsOf(visible), walk: undefined },
    visible.cursorKey,
    scope,
  )

export const offsetsOf = ({ partitions }: VisibleList): Offsets => partitions.map(({ position }) => position)

/** The readable part of a cursor. */
export type SealedCursor = { readonly keyId: CursorKeyId; readonly bytes: Buffer }

/** Parses the readable part. `newer`: a later release has issued it. `invalid`: it is none, or one of the other list. */
export function parseCursor(text: string, type: EntityType): SealedCursor | 'newer' | 'invalid' {
  const bytes = Buffer.from(text, 'base64url')
  if (text.length > maxCursorCharacters || bytes.toString('base64url') !== text) return 'invalid'
  if (bytes.length < headBytes + ivBytes + versionBytes + tagBytes) return 'invalid'
  if (!bytes.subarray(0, magic.length).equals(magic)) return 'invalid'
  const [foundFormat = 0, foundType] = bytes.subarray(magic.length)
  if (foundFormat > format && foundFormat <= lastFormat) return 'newer'
  if (foundFormat !== format || foundType !== typeCodes[type]) return 'invalid'
  return { keyId: bytes.toString('hex', headBytes - keyIdBytes, headBytes) as CursorKeyId, bytes }
}

/** The content of a cursor; undefined if it was not issued with this key for this scope, or was changed since. */
export function openCursor({ bytes }: SealedCursor, key: CursorKey, scope: CursorScope): ChangeCursor | undefined {
  const [head, iv] = [bytes.subarray(0, headBytes), bytes.subarray(headBytes, headBytes + ivBytes)]
  const decipher = createDecipheriv('aes-256-gcm', bytesOf(key), iv, { authTagLength: tagBytes })
    .setAAD(boundTo(head, scope))
    .setAuthTag(bytes.subarray(-tagBytes))
  const content = attempt(() =>
    Buffer.concat([decipher.update(bytes.subarray(headBytes + ivBytes, -tagBytes)), decipher.final()]),
  )
  return content === undefined ? undefined : cursorIn(content)
}

/** The associated data: a cursor opens for the same team, list, view and fields only. */
const boundTo = (head: Buffer, { type, teamId, view, fields }: CursorScope): Buffer =>
  Buffer.concat([head, Buffer.from(JSON.stringify([teamId, type, view, fields ?? null]))])

/** How a walk is encoded. */
const walkCodes = { none: 0, later: 1, first: 2 } as const

/** The version, then variable-length integers: `since`, the kind of walk, and of a walk `target` and `next`. */
function contentOf({ version, since, walk }: ChangeCursor): Buffer {
  const numbers: number[] = [since.length, ...since]
  if (walk === undefined) numbers.push(walkCodes.none)
  else {
    const { target, next, after = '', isFirst } = walk
    const ahead = target.map((offset, partition) => offset - (since[partition] ?? 0))
    const characters = Array.from(after, (character) => character.charCodeAt(0))
    numbers.push(
      isFirst ? walkCodes.first : walkCodes.later,
      target.length,
      ...ahead,
      next,
      after.length,
      ...characters,
    )
  }
  return Buffer.concat([Buffer.from(version, 'base64url'), Buffer.from(numbers.flatMap(varint))])
}

function cursorIn(content: Buffer): ChangeCursor {
  const version = content.toString('base64url', 0, versionBytes) as VersionHash
  const numbers = varintsIn(content.subarray(versionBytes))
  const take = (): number => numbers.next().value ?? 0
  const takeSeveral = (): number[] => Array.from({ length: take() }, take)
  const since = takeSeveral()
  const kind = take()
  if (kind === walkCodes.none) return { version, since, walk: undefined }
  const target = takeSeveral().map((ahead, partition) => (since[partition] ?? 0) + ahead)
  const next = take() as LogPosition
  const after = String.fromCharCode(...takeSeveral()) || undefined
  return { version, since, walk: { target, next, after, isFirst: kind === walkCodes.first } }
}

/** Seven bits a byte, the lowest first; the highest bit says that another byte follows. Bit operators would cut numbers to 32 bits. */
function varint(number: number): number[] {
  const bytes: number[] = []
  let rest = number
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}

function* varintsIn(bytes: Buffer): Generator<number, undefined, undefined> {
  let [number, scale] = [0, 1]
  for (const byte of bytes) {
    number += (byte % 128) * scale
    scale *= 128
    if (byte >= 128) continue
    yield number
    ;[number, scale] = [0, 1]
  }
  return undefined
}
