import fc from 'fast-check'
import {
  type ChangeCursor,
  type CursorScope,
  hashVersion,
  keyIdOf,
  maxCursorCharacters,
  openCursor,
  parseCursor,
  sealCursor,
} from '../../../src/api/changeCursor.ts'
import type { TeamId } from '../../../src/core/model/ids.ts'
import type { LogPosition } from '../../../src/core/model/logPosition.ts'
import type { ListVersion } from '../../../src/core/redis/listVersions.ts'
import { type CursorKey, newCursorKey } from '../../../src/core/redis/visiblePositions.ts'

const key = newCursorKey()
const scope: CursorScope = { type: 'submissions', teamId: 'team-1' as TeamId, view: 'summary', fields: undefined }
const version = hashVersion('run 1-tag salt token' as ListVersion)

/** What a process that knows this key makes of a cursor. */
function read(text: string, of = scope, by: CursorKey = key): ChangeCursor | string | undefined {
  const sealed = parseCursor(text, of.type)
  if (sealed.kind !== 'sealed') return sealed.kind
  return sealed.keyId === keyIdOf(by) ? openCursor(sealed, by, of) : 'unknown key'
}

const offset = fc.integer({ min: 0, max: 2 ** 40 - 1 })
const cursors = fc.array(offset, { maxLength: 40 }).chain((since) =>
  fc.record({
    version: fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => {
      return Buffer.from(bytes).toString('base64url') as ChangeCursor['version']
    }),
    since: fc.constant(since),
    walk: fc.option(
      fc.record({
        target: fc.array(offset, { minLength: since.length, maxLength: since.length + 3 }).map((ahead) => {
          return ahead.map((more, partition) => Math.max(more, since[partition] ?? 0))
        }),
        next: fc.maxSafeNat().map((position) => (position % 2 ** 52) as LogPosition),
        afterSortKey: fc.option(fc.string({ minLength: 1, maxLength: 153 }), { nil: undefined }),
        isFirst: fc.boolean(),
      }),
      { nil: undefined },
    ),
  }),
)

test('a cursor opens to what was sealed', () => {
  fc.assert(
    fc.property(cursors, (cursor) => {
      expect(read(sealCursor(cursor, key, scope))).toEqual(cursor)
    }),
  )
})

test('the same cursor is sealed to another text each time', () => {
  const cursor = { version, since: [1], walk: undefined }
  expect(sealCursor(cursor, key, scope)).not.toBe(sealCursor(cursor, key, scope))
})

const partitions = Array.from({ length: 200 }, (_, partition) => partition)
const since = partitions.map((partition) => 1_000_000_000 + partition)
const target = since.map((each) => each + 999_999_999)
const walk = { target, next: (2 ** 52 - 1) as LogPosition, afterSortKey: undefined, isFirst: false }

test('a cursor in the middle of a walk over 200 partitions with offsets of 10^9 takes less than 3 KiB', () => {
  expect(sealCursor({ version, since, walk }, key, scope).length).toBeLessThan(3 * 1024)
})

test('a cursor has room for 250 partitions, whatever their offsets', () => {
  const half = Array<number>(250).fill(2 ** 39)
  const whole = half.map((each) => 2 * each - 1)
  const cursor = { version, since: half, walk: { ...walk, target: whole } }
  expect(read(sealCursor(cursor, key, scope))).toEqual(cursor)
})

test('a cursor that would be longer than the accepted length is an error', () => {
  const many = { version, since: Array<number>(1_000).fill(2 ** 40 - 1), walk: undefined }
  expect(() => sealCursor(many, key, scope)).toThrow(`1000 partitions takes more than ${maxCursorCharacters}`)
})

test('a cursor that was cut or changed anywhere is not accepted', () => {
  const text = sealCursor(
    {
      version,
      since: [5, 6],
      walk: { target: [7, 8], next: 6 as LogPosition, afterSortKey: undefined, isFirst: true },
    },
    key,
    scope,
  )
  const bytes = Buffer.from(text, 'base64url')
  for (let length = 0; length < text.length; length++) {
    expect(['invalid', undefined]).toContain(read(text.slice(0, length)))
    expect(read(text.slice(text.length - length))).toBe('invalid')
  }
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    expect(['invalid', 'newer', 'unknown key', undefined]).toContain(read(changed.toString('base64url')))
  }
  for (const added of [`${text}A`, `${text}=`, ` ${text}`, `${text}\n`, text.replace(/./, '+')])
    expect(['invalid', undefined]).toContain(read(added))
})

test('a text that is no cursor is not accepted', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String({ maxLength: 6_000 })), (text) => {
      expect(['invalid', 'newer', 'unknown key', undefined]).toContain(read(text))
    }),
  )
})

test.each([
  ['another team', { teamId: 'team-2' as TeamId }, undefined],
  ['another list', { type: 'forms' }, 'invalid'],
  ['another view', { view: 'full' }, undefined],
  ['other fields', { fields: ['id'] }, undefined],
] as const)('a cursor of %s is not accepted', (_what, other, expected) => {
  const text = sealCursor({ version, since: [5], walk: undefined }, key, scope)
  expect(read(text, { ...scope, ...other })).toBe(expected)
})

test('a cursor that another key has sealed is recognised as such', () => {
  const text = sealCursor({ version, since: [5], walk: undefined }, newCursorKey(), scope)
  expect(read(text)).toBe('unknown key')
})

test('a cursor of a later release is recognised as such', () => {
  const bytes = Buffer.from(sealCursor({ version, since: [5], walk: undefined }, key, scope), 'base64url')
  bytes[2] = 2
  expect(read(bytes.toString('base64url'))).toBe('newer')
})
