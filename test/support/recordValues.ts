import fc from 'fast-check'
import { formEntity, submissionEntity } from './entities.ts'
import { changedAt, pathsIn } from './jsonPaths.ts'

/** A valid record value of each kind, with every documented field. */
export const validValues = {
  form: { revision: 3, form: formEntity({ id: 'e1' }) },
  submission: { revision: 3, submission: submissionEntity({ id: 'e1' }) },
  'account-key': {
    revision: 3,
    key: {
      ...{ id: 'e1', name: 'Dashboard', digest: '0123456789abcdef'.repeat(4), start: 'rqp_acct_AbCd' },
      ...{ state: 'revoked', createdAt: '2026-03-01T10:00:00.000Z', createdBy: 'owner' },
      ...{ expiresAt: '2027-03-01T10:00:00.000Z', revokedAt: '2026-04-01T10:00:00.000Z', revokedBy: 'owner' },
    },
  },
} as const
export type RecordKind = keyof typeof validValues

/** JSON texts near the limits of the rules, without impossible dates, which JSON Schema cannot detect. */
const raw: readonly string[] = [
  ...['null', 'true', '[]', '{}', '[{}]', '{"title":[]}'],
  ...['{"status":"completed"}', '{"status":"done"}', '{"status":null}'],
  ...['0', '1', '-1', '1.0', '1e3', '1.5', '1e-3', '1e400', '-1e400', '9007199254740990', '9007199254740991', '1e308'],
  ...['""', '"e1"', '"a/b"', '"a b"', '"ü"', '"e1\\n"', '"1"'],
  ...['"completed"', '"Completed"', '"revoked"', '"knowledge_quiz"'],
  ...[127, 128, 129].map((length) => `"${'x'.repeat(length)}"`),
  ...[100, 101].map((length) => `"${'🎉'.repeat(length)}"`),
  ...['f', 'F', 'g'].map((digit) => `"${digit.repeat(64)}"`),
  ...['"2026-04-01T12:00:00.000Z"', '"2026-04-01T12:00Z"', '"2026-04-01t12:00:00z"', '"2026-04-01T12:00:00,5+01"'],
  ...['"2026-04-01T12:00:00.123456789-0130"', '"2026-04-01T12:00:00-23:59"', '"2026-04-01T12:00.5Z"', '"2026-04-01"'],
  ...['"2026-04-01T12:00:00"', '"2026-13-01T12:00:00Z"', '"2026-04-00T12:00:00Z"', '"2026-04-01T24:00:00Z"'],
  ...['"2026-04-01T12:60:00Z"', '"2026-04-01T12:00:60Z"', '"2026-04-01T12:00:00+24:00"', '"20260401T120000Z"'],
  '"2026-04-01T12:00:00.Z"',
]

/** Record values as text: valid, except that members at any depth may be replaced or removed. */
export function recordTexts(kind: RecordKind): fc.Arbitrary<string> {
  const valid: unknown = validValues[kind]
  const other = fc.oneof(fc.constantFrom(...raw), fc.json({ maxDepth: 2 }), fc.constant(undefined))
  const change = fc.record({ place: fc.constantFrom(...pathsIn(valid)), text: other })
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
    // Placeholders stand for the replaced members until all are chosen.
    const texts = changes.map(({ text }) => text ?? '')
    const changed = changes.reduce<unknown>(
      (value, { place, text }, at) => changedAt(value, place, text === undefined ? undefined : `<raw ${at}>`),
      valid,
    )
    return JSON.stringify(changed).replace(/"<raw (\d+)>"/g, (_, at: string) => texts[Number(at)] ?? '')
  })
}
