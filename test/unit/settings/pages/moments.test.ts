import type { Instant } from '../../../../src/core/model/instant.ts'
import { momentsIn } from '../../../../src/settings/pages/moments.ts'

const instant = '2026-02-28T23:59:59.999Z' as Instant

test('moments are written in UTC, whatever the time zone of the server', async () => {
  expect(String(await momentsIn('en').exact(instant))).toMatch(
    /^<time datetime="2026-02-28T23:59:59.999Z">Feb 28, 2026, 11:59\sPM UTC<\/time>$/,
  )
  expect(String(await momentsIn('zh-Hans').exact(instant))).toBe(
    '<time datetime="2026-02-28T23:59:59.999Z">2026年2月28日 23:59 UTC</time>',
  )
  expect(String(await momentsIn('en').ago(instant))).toContain(' data-ago>')
})
