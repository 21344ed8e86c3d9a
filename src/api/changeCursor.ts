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
 * It is encrypted, because its offsets reveal how much all teams send. The key belongs to the indices that serve. By the unencrypted format, type and
 * key id, the API distinguishes a cursor of a later release (503) or with another key (410) from a damaged cursor and one of the other list (400).
 */
const magic = Buffer.from('TM')
const format = 1
/** Later releases may use formats up to this one; a still higher format is `invalid`. */
const lastFormat = 15
const typeCodes: Readonly<Record<EntityType, number>> = { forms: 0, submissions: 1 }
const keyIdBytes = 4
const headBytes = magic.length + 2 + keyIdBytes
const ivBytes = 12
const tagBytes = 16

/** A cursor of 200 partitions takes less than 3 KiB. */
export const maxCursorCharacters = 4_096

export type VersionHash = Branded<string, 'VersionHash'>
const versionBytes = 12

export const hashVersion = (version: ListVersion): VersionHash =>
  hash('sha256', version, 'buffer').subarray(0, versionBytes).toString('base64url') as VersionHash

/** By partition: an offset that stands for all records below it. A partition added later has no element: 0. */
export type Offsets = readonly number[]

export type ChangeCursor = {
  /** The list's version when the target of the walk was read: of the open walk, or else of the last one. */
  readonly version: VersionHash
  /** The client has every change below these offsets. */
  readonly since: Offsets
  /** Undefined once the last page of the walk is answered. */
  readonly walk: Walk | undefined
}

export type Walk = {
  /** Exclusive. No offset is lower than in `since`. */
  readonly target: Offsets
  /** Changes below this position were answered. */
  readonly next: LogPosition
  /** If several rows share the position `next`: the sort key (creation time and id) of the last answered row. */
  readonly afterSortKey: string | undefined
  /** A walk that began without a cursor has no deletions. */
  readonly isFirst: boolean
}

/** A cursor is accepted only for the scope for which it was issued. */
export type CursorScope = {
  readonly type: EntityType
  readonly teamId: TeamId
  readonly view: 'summary' | 'full'
  readonly fields: Served | undefined
}

export type CursorKeyId = Branded<string, 'CursorKeyId'>

export const keyIdOf = (key: CursorKey): CursorKeyId => idBytesOf(key).toString('hex') as CursorKeyId

const idBytesOf = (key: CursorKey): Buffer => hash('sha256', rawKeyOf(key), 'buffer').subarray(0, keyIdBytes)
const rawKeyOf = (key: CursorKey): Buffer => Buffer.from(key, 'base64')

/** Throws if the topic has too many partitions for a cursor. */
export function sealCursor(
  cursor: ChangeCursor,
  key: CursorKey,
  scope: CursorScope,
  iv: Buffer = randomBytes(ivBytes),
): string {
  const head = Buffer.concat([magic, Buffer.of(format, typeCodes[scope.type]), idBytesOf(key)])
  const cipher = createCipheriv('aes-256-gcm', rawKeyOf(key), iv).setAAD(associatedData(head, scope))
  const sealed = Buffer.concat([head, iv, cipher.update(contentOf(cursor)), cipher.final(), cipher.getAuthTag()])
  const text = sealed.toString('base64url')
  if (text.length > maxCursorCharacters)
    throw new Error(`a cursor of ${cursor.since.length} partitions takes more than ${maxCursorCharacters} characters`)
  return text
}

/** For all changes that are not visible yet. */
export const cursorNow = (visible: VisibleList, scope: CursorScope): string =>
  sealCursor(
    { version: hashVersion(visible.version), since: offsetsOf(visible), walk: undefined },
    visible.cursorKey,
    scope,
  )

/** The visible positions. */
export const offsetsOf = ({ partitions }: VisibleList): Offsets => partitions.map(({ position }) => position)

export type ParsedCursor =
  | { readonly kind: 'sealed'; readonly keyId: CursorKeyId; readonly bytes: Buffer }
  | { readonly kind: 'newer' }
  | { readonly kind: 'invalid' }
export type SealedCursor = Extract<ParsedCursor, { readonly kind: 'sealed' }>

export function parseCursor(text: string, type: EntityType): ParsedCursor {
  const bytes = Buffer.from(text, 'base64url')
  const isLongEnough = bytes.length >= headBytes + ivBytes + versionBytes + tagBytes
  const isBase64 = text.length <= maxCursorCharacters && bytes.toString('base64url') === text
  if (!isBase64 || !isLongEnough || !bytes.subarray(0, magic.length).equals(magic)) return { kind: 'invalid' }
  const [cursorFormat = 0, typeCode] = bytes.subarray(magic.length)
  if (cursorFormat > format && cursorFormat <= lastFormat) return { kind: 'newer' }
  if (cursorFormat !== format || typeCode !== typeCodes[type]) return { kind: 'invalid' }
  const keyId = bytes.toString('hex', headBytes - keyIdBytes, headBytes) as CursorKeyId
  return { kind: 'sealed', keyId, bytes }
}

/** Undefined if the cursor was altered, or issued with another key or for another scope. */
export function openCursor({ bytes }: SealedCursor, key: CursorKey, scope: CursorScope): ChangeCursor | undefined {
  const head = bytes.subarray(0, headBytes)
  const iv = bytes.subarray(headBytes, headBytes + ivBytes)
  const decipher = createDecipheriv('aes-256-gcm', rawKeyOf(key), iv, { authTagLength: tagBytes })
    .setAAD(associatedData(head, scope))
    .setAuthTag(bytes.subarray(-tagBytes))
  const content = attempt(() =>
    Buffer.concat([decipher.update(bytes.subarray(headBytes + ivBytes, -tagBytes)), decipher.final()]),
  )
  return content === undefined ? undefined : cursorIn(content)
}

const associatedData = (head: Buffer, { type, teamId, view, fields }: CursorScope): Buffer =>
  Buffer.concat([head, Buffer.from(JSON.stringify([teamId, type, view, fields ?? null]))])

const walkCodes = { none: 0, later: 1, first: 2 } as const

function contentOf({ version, since, walk }: ChangeCursor): Buffer {
  const numbers: number[] = [since.length, ...since]
  if (walk === undefined) numbers.push(walkCodes.none)
  else {
    const { target, next, afterSortKey = '', isFirst } = walk
    const ahead = target.map((offset, partition) => offset - (since[partition] ?? 0))
    const characters = Array.from(afterSortKey, (character) => character.charCodeAt(0))
    numbers.push(
      isFirst ? walkCodes.first : walkCodes.later,
      target.length,
      ...ahead,
      next,
      afterSortKey.length,
      ...characters,
    )
  }
  return Buffer.concat([Buffer.from(version, 'base64url'), Buffer.from(numbers.flatMap(varint))])
}

function cursorIn(content: Buffer): ChangeCursor {
  const version = content.toString('base64url', 0, versionBytes) as VersionHash
  const numbers = varintsIn(content.subarray(versionBytes))
  const nextNumber = (): number => numbers.next().value ?? 0
  const nextNumbers = (): number[] => Array.from({ length: nextNumber() }, nextNumber)
  const since = nextNumbers()
  const kind = nextNumber()
  if (kind === walkCodes.none) return { version, since, walk: undefined }
  const target = nextNumbers().map((ahead, partition) => (since[partition] ?? 0) + ahead)
  const next = nextNumber() as LogPosition
  const afterSortKey = String.fromCharCode(...nextNumbers()) || undefined
  return { version, since, walk: { target, next, afterSortKey, isFirst: kind === walkCodes.first } }
}

/** LEB128. Bit operators would cut numbers to 32 bits. */
function varint(number: number): number[] {
  const bytes: number[] = []
  let rest = number
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}

function* varintsIn(bytes: Buffer): Generator<number, undefined, undefined> {
  let number = 0
  let scale = 1
  for (const byte of bytes) {
    number += (byte % 128) * scale
    scale *= 128
    if (byte >= 128) continue
    yield number
    number = 0
    scale = 1
  }
  return undefined
}
