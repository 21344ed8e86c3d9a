import { type DifferenceKind, DifferenceReport } from '../../../../indexer/verify/differenceReport.ts'
import type { DocumentId } from '../../../../src/core/model/ids.ts'

const differenceOf = (kind: DifferenceKind, id: string) =>
  ({ kind, id: `acme/${id}` as DocumentId, where: 'forms', detail: 'revision 3 in the topic' }) as const

test('differences are listed one per line, the most serious kind first, up to 1,000 of a kind, and all are counted', () => {
  const differences = new DifferenceReport()
  expect(differences.report()).toEqual({
    ...{ isEqual: true, lines: [], summary: 'equal', noted: '', counts: {}, differences: [] },
  })
  differences.add(differenceOf('newer', 'f-3'))
  expect(differences.report()).toMatchObject({ isEqual: true, summary: 'equal', noted: '1 newer' })
  differences.add(differenceOf('content', 'f-2'))
  for (let number = 0; number < 1_500; number++) differences.add(differenceOf('missing', `f-${number}`))
  differences.add({ ...differenceOf('key-accepted', 'k-1'), where: 'account-keys', detail: 'active' })
  const { lines, differences: named, ...counted } = differences.report()
  expect([...lines.slice(0, 2), ...lines.slice(1_000)]).toEqual([
    'key-accepted acme k-1 (account-keys) active',
    'missing acme f-0 (forms) revision 3 in the topic',
    'missing acme f-999 (forms) revision 3 in the topic',
    'missing: 500 more',
    'newer acme f-3 (forms) revision 3 in the topic',
    'content acme f-2 (forms) revision 3 in the topic',
  ])
  const summary = '1502 differences (1 key-accepted, 1500 missing, 1 content)'
  const counts = { 'key-accepted': 1, missing: 1_500, newer: 1, content: 1 }
  expect(counted).toEqual({ isEqual: false, summary, noted: '1 newer', counts })
  expect([named.length, named[0]]).toEqual([
    1_003,
    { kind: 'key-accepted', key: 'acme/k-1', where: 'account-keys', detail: 'active' },
  ])
})
