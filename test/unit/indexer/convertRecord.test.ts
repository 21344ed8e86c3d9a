import {
  asCarriedOver,
  type DocumentWrite,
  formWrites,
  renewSearchMembers,
  submissionWrites,
  tombstones,
  withNamesOnce,
} from '../../../indexer/convertRecord.ts'
import { summaryDelimiter } from '../../../src/core/elasticsearch/documentFormat.ts'
import type { EntityId, TeamId } from '../../../src/core/model/ids.ts'
import type { Instant } from '../../../src/core/model/instant.ts'
import { readFormRecord } from '../../../src/core/model/record.ts'
import { formEntity } from '../../support/entities.ts'
import { formRecord, recordedAt, submissionRecord } from '../../support/replicaRecords.ts'

const team = 'acme' as TeamId
const appendedAt = '2026-05-01T00:00:00.000Z' as Instant

const writesOfSubmission = (changes: object, changedAt = appendedAt): DocumentWrite[] =>
  submissionWrites(submissionRecord(team, 's1', 7, { ...changes }), recordedAt(changedAt), true)
const form = formEntity({ id: 'f1' })
const sourceOf = (write: DocumentWrite | undefined) => JSON.parse(write?.source.toString() ?? 'null')

test('a document has no line breaks, which would end it in a bulk request, and at most two delimiters', () => {
  const sent = { ...form, title: 'Line\none\r\ttwo', localization: { a: ['\t', { b: 1 }] } }
  for (const indent of [2, '\t', '\r\n\t']) {
    const value = Buffer.from(JSON.stringify({ revision: 1, form: sent }, null, indent))
    const read = readFormRecord(Buffer.from('acme/f1'), value)
    if (!read.ok) throw new Error(JSON.stringify(read.problem))
    const [list, detail] = formWrites(read.value, recordedAt(appendedAt)).map(({ source }) => source.toString())
    expect(list).not.toMatch(/[\r\n]/)
    expect(detail).not.toMatch(/[\r\n\t]/)
    const [before, summary, after, ...more] = (list ?? '').split(summaryDelimiter)
    expect(JSON.parse(summary ?? '')).toMatchObject({ title: sent.title, localization: sent.localization })
    expect([JSON.parse(`${before}null${after}`).summary, more]).toEqual([null, []])
  }
})

test('a row counts as large by all bytes that a search returns, the terms of its title included', () => {
  const titled = (words: number) =>
    formWrites(
      formRecord(team, 'f1', 7, { title: Array.from({ length: words }, (_, at) => `word${at}`).join(' ') }),
      recordedAt(appendedAt),
    )[0]
  const large = titled(600)
  expect(large?.source.length).toBeGreaterThan(16 * 1024)
  const { large: told } = sourceOf(large)
  expect(told.summaryOf).toBe('acme')
  expect(Math.abs(Number(told.summaryBytes) - (large?.source.length ?? 0))).toBeLessThan(400)
  expect(sourceOf(titled(20)).large).toBeUndefined()
})

test('a list document with every name once still has its delimiters', () => {
  const [list] = writesOfSubmission({})
  if (list === undefined) throw new Error('no list document')
  const doubled = {
    ...list,
    source: Buffer.from(list.source.toString().replace('"customData":', '"customData":1,"customData":')),
  }
  expect(withNamesOnce(doubled)).toEqual(list)
})

test('a list document of an earlier release, or without answers, gets the present search fields', () => {
  for (const changes of [{}, { data: null, result: { status: 'pending' } }, { data: { '"summary":': '$&' } }]) {
    const record = submissionRecord(team, 's1', 7, changes)
    const [list, bare] = [true, false].map(
      (hasAnswers) => submissionWrites(record, recordedAt(appendedAt), hasAnswers)[0],
    )
    if (list === undefined || bare === undefined) throw new Error('no list document')
    const { scoreParts } = sourceOf(bare)
    const earlier = bare.source.toString().replace(`,"scoreParts":${JSON.stringify(scoreParts)}`, '')
    const others = [list, bare, { ...list, source: Buffer.from(earlier) }]
    expect(others.map((each) => 'answers' in sourceOf(each))).toEqual([true, false, false])
    expect(others.map((each) => renewSearchMembers(each, true))).toEqual([list, list, list])
    expect(others.map((each) => renewSearchMembers(each, false))).toEqual([bare, bare, bare])
  }
})

test('the digests of two list documents differ if their records differ, and do not depend on append times', () => {
  const digestOf = (changes: object, changedAt?: Instant): string =>
    sourceOf(writesOfSubmission(changes, changedAt)[0])['digest']
  const first = digestOf({})
  expect(digestOf({}, '2026-06-01T00:00:00.000Z' as Instant)).toBe(first)
  expect(digestOf({ secret: 'is not served' })).toBe(first)
  expect(digestOf({ data: { q1: 'served in both documents' } })).not.toBe(first)
  expect(digestOf({ reportResult: { status: 'completed', outcome: { code: 'served in the detail only' } } })).not.toBe(
    first,
  )
  expect(digestOf({ result: { status: 'completed', score: 0.25 } })).not.toBe(first)
})

test('a document that is copied from a replaced topic has a position before all records of the new one, and a deletion has none', () => {
  const [list] = writesOfSubmission({})
  const position = (source: Buffer | undefined) => JSON.parse(source?.toString() ?? '').logPosition
  const key = { teamId: team, entityId: 's1' as EntityId }
  const [tombstone] = tombstones(key, ['submissions'], recordedAt(appendedAt, 7))
  expect([position(list?.source), position(tombstone?.source)]).toEqual([expect.any(Number), 7])
  const carried = [list, tombstone].map((each) => each && asCarriedOver(each.source))
  expect(carried.map(position)).toEqual([0, undefined])
  expect(sourceOf(tombstone)).toEqual({ ...JSON.parse(carried[1]?.toString() ?? ''), logPosition: 7 })
})
