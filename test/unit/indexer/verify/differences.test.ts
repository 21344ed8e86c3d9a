import { type Difference, Differences } from '../../../../indexer/verify/differences.ts'
import type { TeamId } from '../../../../src/core/model/ids.ts'

const difference = (kind: Difference['kind'], id: string): Difference => ({
  ...{ kind, id, team: 'acme' as TeamId, where: 'forms' },
  detail: 'revision 3 in the topic',
})

test('differences are named one a line, the most serious kind first, with their counts', () => {
  const differences = new Differences(10)
  differences.add(difference('content', 'f-2'))
  differences.add(difference('missing', 'f-1'))
  differences.add({ ...difference('key-accepted', 'k-1'), where: 'account-keys', detail: 'active' })
  expect(differences.lines()).toEqual([
    'key-accepted acme k-1 (account-keys) active',
    'missing acme f-1 (forms) revision 3 in the topic',
    'content acme f-2 (forms) revision 3 in the topic',
  ])
  expect([differences.isEmpty, differences.summary()]).toEqual([
    false,
    '3 differences (1 key-accepted, 1 missing, 1 content)',
  ])
})

test('of each kind no more are kept than may be named; all are counted', () => {
  const differences = new Differences(2)
  for (let number = 0; number < 1_000; number++) differences.add(difference('missing', `f-${number}`))
  expect(differences.lines()).toHaveLength(3)
  expect(differences.lines().at(-1)).toBe('missing: 998 more')
  expect(differences.summary()).toBe('1000 differences (1000 missing)')
})
