import { readRetryAfter, sleep } from '../../../clients/typescript/src/retries.ts'

const now = 'Sun, 29 Nov 2026 12:00:00 GMT'
const anHour = 3_600_000

test.each([
  ['1', 1_000],
  [' 30 ', 30_000],
  ['3600', anHour],
  ['3601', anHour],
  ['9'.repeat(400), anHour],
  ['Sun, 29 Nov 2026 12:00:20 GMT', 20_000],
  ['Sunday, 29-Nov-26 12:00:20 GMT', 20_000],
  ['Sun Nov 29 12:00:20 2026', 20_000],
  ['Fri, 31 Dec 9999 23:59:59 GMT', anHour],
])('Retry-After: %s asks for %d ms', (value, ms) => {
  expect(readRetryAfter(value, now)).toBe(ms)
})

test.each([
  ...['0', '', '-1', '1.5', '1e3', 'soon', 'in 2030', 'soon 2030', '5, 10', '2026-11-29T12:00:20Z', '0x10'],
  ...['Sun, 29 Nov 2026 11:59:00 GMT', 'Sun, 99 Nov 2026 12:00:20 GMT', 'Xyz, 29 Nov 2026 12:00:20 GMT'],
])('Retry-After: %s asks for no pause', (value) => {
  expect(readRetryAfter(value, now)).toBeUndefined()
})

test('an answer without Retry-After asks for no pause', () => {
  expect(readRetryAfter(null, now)).toBeUndefined()
})

test('a date in Retry-After is compared with the Date of the answer, or else with the own clock', () => {
  const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toUTCString()
  expect(readRetryAfter(inSeconds(-4_000), inSeconds(-4_060))).toBe(60_000)
  for (const unknown of [null, 'no date']) {
    const ms = readRetryAfter(inSeconds(60), unknown) ?? 0
    expect([ms > 30_000, ms <= 60_000]).toEqual([true, true])
  }
})

test('a pause ends after its time, or with the reason of its signal', async () => {
  const signal = new AbortController().signal
  await sleep(1, undefined)
  await sleep(1, signal)
  const reason = new Error('enough')
  await expect(sleep(600_000, AbortSignal.abort(reason))).rejects.toBe(reason)
})
