import { pino } from 'pino'
import type { TeamId } from '../../../src/core/model/ids.ts'
import type { RedisConnection } from '../../../src/core/redis/redis.ts'
import { redisKeys } from '../../../src/core/redis/redisKeys.ts'
import { type KeyChange, keyChange } from '../../../src/settings/keyAudit.ts'
import { changeList } from '../../../src/settings/pages/changeList.ts'
import { english } from '../../../src/settings/pages/english.ts'
import { changeKeeper, readChanges, withoutRepetitions } from '../../../src/settings/recentChanges.ts'

const team = 'acme' as TeamId
const change = (kind: KeyChange['change'], id: string, name?: string, by = 'ada'): KeyChange =>
  keyChange(kind, team, by, { id, name, start: name && 'rqp_acct_ab12' }, Date.parse('2026-11-21T10:00:00.000Z'))
const namesOf = (changes: readonly KeyChange[]) => changes.map(({ change, key, by }) => `${change} ${key.id} by ${by}`)

test('of a change that was requested again, the first one counts', () => {
  const changes = [
    change('deleted', 'k1', undefined, 'tidemark'),
    change('created', 'k2', 'Other'),
    change('deleted', 'k1', 'Export'),
    change('revoked', 'k1', 'Export'),
    change('revoked', 'k1', 'Export', 'bob'),
    change('created', 'k1', 'Export'),
  ]
  expect(namesOf(withoutRepetitions(changes))).toEqual([
    'created k2 by ada',
    'deleted k1 by ada',
    'revoked k1 by bob',
    'created k1 by ada',
  ])
})

test('a change of a key does not fail when Redis cannot list it', async () => {
  const logged: string[] = []
  const away = () => Promise.reject(new Error('away'))
  const client = { lpush: away, ltrim: away, expire: away, lrange: away }
  const redis = { client, keys: redisKeys('t') } as unknown as RedisConnection
  const keep = changeKeeper(redis, pino({ base: null, timestamp: false }, { write: (line) => logged.push(line) }))
  await keep(change('created', 'k1', 'Export'))
  expect(logged.join()).toContain('a change of a key is not listed')
  await expect(readChanges(redis, team)).rejects.toThrow('away')
})

describe('the list of changes', () => {
  const shown = (changes: readonly KeyChange[] | undefined): string => String(changeList(changes, english))

  test('names change, key, time and person, escaped', () => {
    const page = shown([change('revoked', 'k1', '<b>Export'), change('deleted', 'k2', undefined, 'tidemark')])
    expect(
      page
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ).toBe(
      'Changes Revoked &#60;b&#62;Export rqp_acct_ab12… Nov 21, 2026, 10:00 AM UTC , by ada ' +
        'Deleted k2 Nov 21, 2026, 10:00 AM UTC , by tidemark',
    )
  })

  test('shows ten at once, and the others after a click', () => {
    const changes = Array.from({ length: 12 }, (_, at) => change('created', `k${at}`, `Key ${at}`))
    const [before = '', after = ''] = shown(changes).split('<details>')
    expect([before.match(/<li>/g)?.length, after.match(/<li>/g)?.length]).toEqual([10, 2])
    expect(after).toContain('<summary>2 earlier changes</summary>')
    expect(shown(changes.slice(0, 10))).not.toContain('<details>')
  })

  test('is left out when there are none, or they cannot be read', () => {
    expect([shown([]), shown(undefined)]).toEqual(['', ''])
  })
})
