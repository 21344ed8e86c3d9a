import {
  type RecordKey,
  type RenderedSubmission,
  readAccountKeyRecord,
  readFormRecord,
  readSubmissionRecord,
} from '../../../../src/core/model/record.ts'
import type { Result } from '../../../../src/core/model/schema.ts'
import { formEntity, submissionEntity } from '../../../support/entities.ts'
import { validValues } from '../../../support/recordValues.ts'

const form = formEntity({ id: 'f1' })
const submission = submissionEntity({ id: 's1' })
const accountKey = validValues['account-key'].key

/** As the records of the other topics are read. */
function readKeyRecord(recordKey: Buffer | null, value: Buffer | null) {
  const result = readAccountKeyRecord(recordKey, value)
  if (!result.ok) return result
  const { revision, key, ...read } = result.value
  return { ok: true, value: { ...read, live: key === null ? null : { revision, entity: key } } } as const
}

const kinds = {
  form: { read: readFormRecord, entity: form, key: 'acme/f1' },
  submission: { read: readSubmissionRecord, entity: submission, key: 'acme/s1' },
  key: { read: readKeyRecord, entity: accountKey, key: 'acme/e1' },
} as const
type Kind = keyof typeof kinds

const bytes = (text: string): Buffer => Buffer.from(text)
const recordOf = (kind: Kind, entity: unknown, revision: unknown = 1): Buffer =>
  bytes(JSON.stringify({ revision, [kind]: entity }))
const read = (kind: Kind, value: Buffer | null, key: Buffer | null = bytes(kinds[kind].key)) =>
  kinds[kind].read(key, value) as Result<RecordKey & { live: { revision: number; entity: { id: string } } | null }>
const problemOf = (result: Result<unknown>): string => (result.ok ? 'accepted' : result.problem.path)

describe.each(Object.keys(kinds) as Kind[])('A record of a %s', (kind) => {
  const { entity } = kinds[kind]

  test('has the team, the id, the revision and the whole entity', () => {
    expect(read(kind, recordOf(kind, entity, 7))).toMatchObject({
      ok: true,
      value: { teamId: 'acme', entityId: entity.id, live: { revision: 7, entity: { id: entity.id } } },
    })
  })

  test('with a null value deletes the entity', () => {
    expect(read(kind, null)).toEqual({ ok: true, value: { teamId: 'acme', entityId: entity.id, live: null } })
  })

  test.each([
    ['no key', null],
    ['no slash', 'acme'],
    ['no team', '/f1'],
    ['a second slash', 'acme/a/b'],
    ['a letter with a mark', 'äcme/f1'],
    ['a line break at the end', 'acme/f1\n'],
    ['an id of 129 characters', `acme/${'i'.repeat(129)}`],
    ['bytes that are no UTF-8', Buffer.from([0x61, 0x2f, 0xff])],
    ['a byte order mark', '\ufeffacme/f1'],
  ])('with %s in its key is refused, also when it deletes', (_, recordKey) => {
    const given = typeof recordKey === 'string' ? bytes(recordKey) : recordKey
    expect(problemOf(read(kind, null, given))).toBe('key')
    expect(problemOf(read(kind, recordOf(kind, entity), given))).toBe('key')
  })

  test.each(['a', 'A-Z_a.z:0-9', '..', '-', '__proto__', 'x'.repeat(128)])('may have the id %s', (id) => {
    const result = read(kind, recordOf(kind, { ...entity, id }), bytes(`${id}/${id}`))
    expect(result).toMatchObject({ ok: true, value: { teamId: id, entityId: id } })
  })

  test('whose value names another id than its key is refused', () => {
    expect(problemOf(read(kind, recordOf(kind, { ...entity, id: 'other' })))).toBe(`${kind}.id`)
  })

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['no JSON', bytes('{"revision":1,')],
    ['a list', bytes('[]')],
    ['a string', bytes('"x"')],
    ['null as text', bytes('null')],
    ['JSON after a byte order mark', Buffer.concat([bytes('\ufeff'), recordOf(kind, entity)])],
    ['two values', Buffer.concat([recordOf(kind, entity), recordOf(kind, entity)])],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xc3, 0x22])],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ])('whose value is %s is refused', (_, value) => {
    expect(problemOf(read(kind, value))).toBe('value')
  })

  test.each([...(kind === 'key' ? [] : [null]), [], 'x', 1, undefined])('whose entity is %p is refused', (value) => {
    expect(problemOf(read(kind, recordOf(kind, value)))).toBe(kind)
  })

  test.each([
    [1, 'accepted'],
    [2 ** 53 - 2, 'accepted'],
    // The revision of a deletion by a null value, which no record can be above.
    [2 ** 53 - 1, 'revision'],
    [2 ** 53, 'revision'],
    [0, 'revision'],
    [1.5, 'revision'],
    ['1', 'revision'],
    [null, 'revision'],
  ])('with the revision %j: %s', (revision, problem) => {
    expect(problemOf(read(kind, recordOf(kind, entity, revision)))).toBe(problem)
  })

  test('has the last value of a repeated name', () => {
    const value = bytes(`{"revision":9,"${kind}":1,"revision":3,"${kind}":${JSON.stringify(entity)}}`)
    expect(read(kind, value)).toMatchObject({ ok: true, value: { live: { revision: 3 } } })
  })
})

test('A record of a key whose entity is null deletes it, with a revision', () => {
  const deletion = (revision: unknown) => readAccountKeyRecord(bytes('acme/e1'), recordOf('key', null, revision))
  expect(deletion(3)).toEqual({ ok: true, value: { teamId: 'acme', entityId: 'e1', revision: 3, key: null } })
  expect(problemOf(deletion(0))).toBe('revision')
})

const formText = (changes: Record<string, unknown>): string =>
  recordOf('form', formEntity({ id: 'f1', ...changes })).toString()
const keyWith = (changes: Record<string, unknown>) => read('key', recordOf('key', { ...accountKey, ...changes }))

test('only the first problem of a record is reported', () => {
  expect(problemOf(read('form', bytes(formText({ title: 1, scene: 'x', createdAt: '' }))))).toBe('form.title')
  expect(problemOf(read('form', bytes(formText({ scene: 'x', createdAt: '' }))))).toBe('form.scene')
})

const ofIdentifiers = '1 to 128 characters of A-Z a-z 0-9 . _ : -'
const ofMoments = 'must be an ISO 8601 date-time with separators and an offset or Z, such as 2026-11-21T08:30:00.000Z'
const ofDepth = (levels: number): string =>
  `must not be nested deeper than ${levels} levels, nor hold a number of more than 1000 characters`
const listOf = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

const formWithList = (levels: number): Buffer => bytes(formText({ fields: '?' }).replace('"?"', listOf(levels)))

test.each([
  ['no key', null, 'key', 'must be <teamId>/<id> in UTF-8'],
  ['a key without a slash', 'acme', 'key', 'must be <teamId>/<id>'],
  ['a key without a team', '/f1', 'key', `teamId must be ${ofIdentifiers}`],
  ['a key without an id', 'acme/', 'key', `id must be ${ofIdentifiers}`],
  ['the key of another form', 'acme/f2', 'form.id', 'must be the id in the record key'],
])('a record with %s is refused with a reason that says what its key must be', (_, key, path, rule) => {
  const result = read('form', recordOf('form', form), key === null ? null : bytes(key))
  expect(result).toEqual({ ok: false, problem: { path, rule } })
})

test.each([
  ['with half a character', Buffer.from([0xc3]), 'value', 'must be UTF-8'],
  ['that ends too early', bytes('{"revision":1'), 'value', 'must be JSON'],
  ['that is a list', bytes('[]'), 'value', 'must be a JSON object'],
  ['without a revision', bytes('{}'), 'revision', 'must be an integer from 1 to 9007199254740990'],
  ['of a day that there is not', bytes(formText({ createdAt: '2026-02-30T00:00Z' })), 'form.createdAt', ofMoments],
  ['that is nested too deep for Elasticsearch', formWithList(999), 'form.fields', ofDepth(998)],
])('a record %s is refused with a reason that names the member and its rule', (_, value, path, rule) => {
  expect(read('form', value)).toEqual({ ok: false, problem: { path, rule } })
})

test('a list of a form may be nested as deep as the reason of a refusal says', () => {
  expect(problemOf(read('form', formWithList(998)))).toBe('accepted')
})

test.each([
  ['9007199254740991', 'accepted'],
  ['-9007199254740991.0', 'accepted'],
  ['9007199254740992', 'submission.serialNumber'],
  ['-9007199254740993', 'submission.serialNumber'],
  ['1e16', 'submission.serialNumber'],
  ['12345678901234567890123', 'submission.serialNumber'],
])('the serial number %s is %s, because it must fit a double and 64 bits', (serialNumber, problem) => {
  const text = recordOf('submission', submission).toString()
  expect(
    problemOf(read('submission', bytes(text.replace('"serialNumber":17', `"serialNumber":${serialNumber}`)))),
  ).toBe(problem)
})

test('the reason for a refusal names a member within others by its path', () => {
  const text = recordOf('submission', { ...submission, examinee: { customData: '?' } }).toString()
  const custom = (levels: number) => read('submission', bytes(text.replace('"?"', listOf(levels))))
  expect(custom(998)).toMatchObject({ problem: { path: 'submission.examinee.customData', rule: ofDepth(997) } })
  expect(problemOf(custom(997))).toBe('accepted')
})

test('members that are not served, or served as text, may be nested deep and have many digits', () => {
  const secret = '['.repeat(5_000) + ']'.repeat(5_000)
  const text = formText({ description: '['.repeat(5_000) + '7'.repeat(5_000) })
  expect(problemOf(read('form', bytes(text.replace('"form":{', `"form":{"secret":${secret},`))))).toBe('accepted')
})

test('two states of a form have the same digest only if every answer shows the same content', () => {
  const digestOf = (changes: object, revision = 1): string => {
    const result = readFormRecord(bytes('acme/f1'), recordOf('form', { ...form, ...changes }, revision))
    return result.ok ? (result.value.live?.entity.digest ?? '') : ''
  }
  expect(digestOf({})).toMatch(/^[\w-]{16}$/)
  expect([digestOf({}, 2), digestOf({ secret: 1 })]).toEqual([digestOf({}), digestOf({})])
  const digests = [{}, { title: 'Other' }, { description: 'Other' }, { isActive: null }].map((each) => digestOf(each))
  expect(new Set(digests).size).toBe(4)
})

describe.each([
  ['on one line', ''],
  ['with line breaks and tabs', '\t'],
])('of a record %s', (_, indent) => {
  const readChanged = (kind: 'form' | 'submission', changes: object) => {
    const value = JSON.stringify({ revision: 1, [kind]: { ...kinds[kind].entity, ...changes } }, null, indent)
    return read(kind, bytes(value.replace('"?"', '80.50')))
  }
  const entityOf = (kind: 'form' | 'submission', changes: object) => {
    const result = readChanged(kind, changes)
    return result.ok ? (result.value.live?.entity as unknown as RenderedSubmission) : undefined
  }

  test('a submission is found by its form, status and time, and by its answers and score as written', () => {
    const given = { formId: 'f7', submittedAt: '2026-03-31T12:00:00+02:00', result: { status: 'failed', score: '?' } }
    const entity = entityOf('submission', { ...given, data: { q1: 'é' } })
    const found = { formId: 'f7', status: 'failed', submittedAt: '2026-03-31T10:00:00.000Z' }
    expect(entity).toMatchObject({ id: 's1', ...found, foundBy: { score: '80.50' } })
    expect(JSON.parse(entity?.foundBy.data ?? '')).toEqual({ q1: 'é' })
  })

  test.each([[null], [undefined]])(
    'a submission whose answers are %s, and that has no score, is found by no answer and no score',
    (data) => {
      const entity = entityOf('submission', { data, result: { status: 'pending' } })
      expect(entity).toMatchObject({ foundBy: { data: '', score: '' } })
    },
  )

  test.each([
    [{ formId: 'f 7' }, 'submission.formId'],
    [{ result: { status: 'done' } }, 'submission.result.status'],
    [{ result: {} }, 'submission.result.status'],
    [{ reportResult: { status: 'done' } }, 'submission.reportResult.status'],
    [{ submittedAt: '2026-02-30T00:00Z' }, 'submission.submittedAt'],
    [{ updatedAt: 'now' }, 'submission.updatedAt'],
  ])('a submission with %j is refused', (changes, path) => {
    expect(problemOf(readChanged('submission', changes))).toBe(path)
  })

  test.each([
    ['form', 'createdAt'],
    ['form', 'updatedAt'],
    ['submission', 'submittedAt'],
    ['submission', 'updatedAt'],
  ] as const)('of a %s, %s is served in UTC with milliseconds', (kind, name) => {
    const entity = entityOf(kind, { [name]: '2026-03-31T12:00:00.5+02:00' })
    for (const text of [entity?.summary, entity?.detail])
      expect(JSON.parse(String(text))).toHaveProperty(name, '2026-03-31T10:00:00.500Z')
  })
})

test('an account key has no half surrogate pairs, which scripts of Redis cannot read', () => {
  const [halves, whole] = [
    { name: 'n\ud800', createdBy: '\udc00' },
    { name: 'n\ufffd', createdBy: '\ufffd' },
  ]
  const others = { start: '\ud800', revokedBy: '\ud800' }
  const entity = { ...whole, start: '\ufffd', revokedBy: '\ufffd' }
  expect(keyWith({ ...halves, ...others })).toMatchObject({ value: { live: { entity } } })
})

test('an account key has its times in UTC with milliseconds', () => {
  const entity = { createdAt: '2026-03-01T10:00:00.000Z', expiresAt: '2026-03-01T10:00:00.123Z' }
  const given = { createdAt: '2026-03-01T10:00:00Z', expiresAt: '2026-03-01T11:00:00.12345+01:00' }
  expect(keyWith(given)).toMatchObject({ value: { live: { entity } } })
})
