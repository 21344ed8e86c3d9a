import type { Instant } from '../../../src/core/model/instant.ts'
import type { UsedKey } from '../../../src/settings/accountKeyManager.ts'
import { chinese } from '../../../src/settings/pages/chinese.ts'
import { english } from '../../../src/settings/pages/english.ts'
import { keysPage, type ListedKey, listedKey } from '../../../src/settings/pages/keyPages.ts'
import { agoIn, standsStill, stillUsed, useFacts } from '../../../src/settings/pages/keyUse.ts'
import { catalogues, timeIn, urlsFrom } from '../../../src/settings/pages/parts.ts'

/** Every text of a catalogue by its path; what takes a name is given one. */
function textsOf(value: unknown, path = ''): [path: string, text: string][] {
  if (typeof value === 'string') return [[path, value]]
  if (typeof value === 'function') return [[path, String(value('NAME', 10))]]
  return Object.entries(value as object).flatMap(([name, inner]) => textsOf(inner, `${path}.${name}`))
}

test.each(catalogues.map((each) => [each.languageName, each] as const))(
  'no text of %s is empty or lacks its name',
  (_, say) => {
    const texts = textsOf(say)
    expect(texts.length).toBeGreaterThan(80)
    for (const [path, text] of texts) {
      expect([path, text.trim()]).toEqual([path, text])
      expect([path, text]).not.toEqual([path, ''])
    }
    for (const [path, text] of texts.filter(
      ([path]) => /\.title$|Named$/.test(path) && /confirm|created|Named/.test(path),
    ))
      expect([path, text]).toEqual([path, expect.stringContaining('NAME')])
  },
)

test('each catalogue of texts is in its own language', () => {
  expect(textsOf(english).filter(([, text]) => /\p{Script=Han}/u.test(text))).toEqual([])
  const foreign = textsOf(chinese).filter(([, text]) => !/\p{Script=Han}/u.test(text))
  expect(foreign.map(([path]) => path)).toEqual(['.language', '.keys.slots'])
})

const instant = '2026-02-28T23:59:59.999Z' as Instant

test('times are written in UTC, whatever the time zone of the server', () => {
  expect(String(timeIn(english, instant))).toMatch(
    /^<time datetime="2026-02-28T23:59:59.999Z">Feb 28, 2026, 11:59\sPM UTC<\/time>$/,
  )
  expect(String(timeIn(chinese, instant))).toBe(
    '<time datetime="2026-02-28T23:59:59.999Z">2026年2月28日 23:59 UTC</time>',
  )
})

test('a key is shown as expired from its expiry on, and as revoked whether or not it is expired', () => {
  const nowMs = Date.parse('2026-11-21T12:00:00.000Z')
  const stateOf = (changes: Partial<UsedKey>): string =>
    listedKey({ id: 'k1', state: 'active', ...changes } as UsedKey, undefined, nowMs).shownState
  const [soon, now] = ['2026-11-21T12:00:00.001Z', '2026-11-21T12:00:00.000Z'] as [Instant, Instant]
  const states = [{}, { expiresAt: soon }, { expiresAt: now }, { expiresAt: now, state: 'revoked' as const }].map(
    stateOf,
  )
  expect(states).toEqual(['active', 'active', 'expired', 'revoked'])
})

describe('the use of a key', () => {
  const nowMs = Date.parse('2026-11-21T13:04:00.000Z')
  const [askedAt, readTo] = ['2026-11-21T12:04:00.000Z', '2026-11-21T12:03:00.000Z'] as [Instant, Instant]
  const counts = { requests: 1_240, refusals: 0, mistakes: 0 }
  const textOf = (lastDay: typeof counts, feed: { askedAt: Instant; readTo: Instant | null }, atMs = nowMs): string => {
    const use = { lastHour: counts, lastDay, feeds: [{ type: 'submissions' as const, ...feed }] }
    return String(useFacts(use, true, atMs, english))
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim()
  }

  test('is written with its refusals and mistakes, if there are any', () => {
    const feed = { askedAt, readTo }
    const read = 'Changes of submissions Read up to Nov 21, 2026, 12:03 PM UTC'
    expect(textOf(counts, feed)).toBe(`Last 24 hours About 1,240 requests ${read}`)
    expect(textOf({ requests: 1, refusals: 1, mistakes: 0 }, feed)).toBe(
      `Last 24 hours About 1 request 1 refused: too many at once (429) ${read}`,
    )
    expect(textOf({ ...counts, mistakes: 1_000 }, feed)).toContain('requests 1,000 not understood (400)')
  })

  test('shows since when a feed stands still once it had no request for an hour', () => {
    const [whenAsked, whenAskedText] = [nowMs + 1, 'Has stood still since Nov 21, 2026, 12:04 PM UTC']
    expect([standsStill({ askedAt }, nowMs), standsStill({ askedAt }, whenAsked)]).toEqual([false, true])
    expect(textOf(counts, { askedAt, readTo }, whenAsked)).toContain(`12:03 PM UTC ${whenAskedText}`)
    expect(textOf(counts, { askedAt, readTo: null }, whenAsked)).toContain(
      `Last asked for Nov 21, 2026, 12:04 PM UTC ${whenAskedText}`,
    )
    const use = { lastHour: counts, lastDay: counts, feeds: [{ type: 'forms' as const, askedAt, readTo }] }
    expect(String(useFacts(use, false, whenAsked, english))).not.toContain('stood still')
  })
})

test.each([
  [20_000, '1 minute ago', '1分钟前'],
  [3.9 * 60_000, '3 minutes ago', '3分钟前'],
  [60 * 60_000, '1 hour ago', '1小时前'],
  [47 * 3_600_000, '47 hours ago', '47小时前'],
  [48 * 3_600_000, '2 days ago', '2天前'],
])('%i ms are shown as "%s"', (ms, inEnglish, inChinese) => {
  expect([agoIn(english, ms), agoIn(chinese, ms)]).toEqual([inEnglish, inChinese])
})

test('the card of a replaced key shows its use in the last hour and its last use', () => {
  const listedAtMs = Date.parse('2026-11-21T12:03:00.000Z')
  const counts = (requests: number) => ({ requests, refusals: 0, mistakes: 0 })
  const use = { lastHour: counts(1_200), lastDay: counts(9_999), feeds: [] }
  const key = { use, lastUsedAt: '2026-11-21T12:00:00.000Z', listedAtMs } as unknown as ListedKey
  expect(stillUsed(key, english)).toBe('About 1,200 requests in the last hour. Last used 3 minutes ago.')
  const none = { ...use, lastHour: counts(0) }
  expect(stillUsed({ ...key, use: none }, english)).toBe('Last used 3 minutes ago.')
  expect(stillUsed({ ...key, use: none, listedAtMs: listedAtMs + 7_200_000 }, english)).toBe(
    'No requests in the last hour. Last used 2 hours ago.',
  )
  expect(stillUsed({ ...key, use: undefined }, chinese)).toBe('最近使用：3分钟前。')
  expect(stillUsed({ ...key, lastUsedAt: null }, english)).toBe('No use seen so far')
})

test('the form of an unfinished replacement is shown again, although the new key is listed', () => {
  const key = (name: string, createdAt: string): ListedKey =>
    listedKey({ id: name, name, createdAt, state: 'active', lastUsedAt: null } as unknown as UsedKey, undefined, 0)
  const keys = [key('Export', '2026-11-20T12:00:00.000Z'), key('Export (2026-11-21)', '2026-11-21T12:00:00.000Z')]
  const view = { csrf: '', keys, form: { name: '', expires: '', once: 'o' }, today: '2026-11-21' }
  const formsOn = (notReplaced?: 'unfinished'): string[] => {
    const page = keysPage({ ...view, notice: undefined, changes: [], notReplaced }, english, urlsFrom('/keys'))
    return String(page.content).match(/[^/]*\/replace"/g) ?? []
  }
  expect(formsOn()).toEqual(['Export%20(2026-11-21)/replace"'])
  expect(formsOn('unfinished')).toEqual(['Export%20(2026-11-21)/replace"', 'Export/replace"'])
})

test('a form that is sent again gives the first key, and cannot change it', () => {
  const form = { name: 'n', expires: '', once: 'o', problem: 'unfinished' } as const
  const { content } = keysPage(
    { csrf: '', keys: [], form, today: '2026-11-21', notice: undefined, changes: undefined },
    english,
    urlsFrom('/keys'),
  )
  expect(String(content).match(/<input id=[^>]* readonly /g)).toHaveLength(2)
})
