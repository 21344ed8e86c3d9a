import type { Instant } from '../../../../src/core/model/instant.ts'
import { languageNames, languages, messagesIn, writerIn } from '../../../../src/settings/pages/languages.ts'

/** Every text of a catalogue by its path; what takes a name is given one. */
function textsOf(value: unknown, path = ''): [path: string, text: string][] {
  if (typeof value === 'string') return [[path, value]]
  if (typeof value === 'function') return [[path, String(value('NAME', 10))]]
  return Object.entries(value as object).flatMap(([name, inner]) => textsOf(inner, `${path}.${name}`))
}

test.each(languages)('the catalogue of %s says something everywhere, and what it is about', (language) => {
  const texts = textsOf(messagesIn[language])
  expect(texts.length).toBeGreaterThan(80)
  for (const [path, text] of texts) {
    expect([path, text.trim()]).toEqual([path, text])
    expect([path, text]).not.toEqual([path, ''])
  }
  for (const [path, text] of texts.filter(
    ([path]) => /\.title$|Named$/.test(path) && /confirm|created|Named/.test(path),
  ))
    expect([path, text]).toEqual([path, expect.stringContaining('NAME')])
})

test('the catalogues hold the same texts, each in its own language', () => {
  const [english, chinese] = [textsOf(messagesIn.en), textsOf(messagesIn['zh-Hans'])]
  expect(chinese.map(([path]) => path)).toEqual(english.map(([path]) => path))
  expect(english.filter(([, text]) => /\p{Script=Han}/u.test(text))).toEqual([])
  const foreign = chinese.filter(([, text]) => !/\p{Script=Han}/u.test(text)).map(([path]) => path)
  expect(foreign).toEqual(['.utc', '.keys.slots'])
  expect(Object.keys(languageNames)).toEqual([...languages])
})

const instant = '2026-02-28T23:59:59.999Z' as Instant

test('times are written in UTC, whatever the time zone of the server', async () => {
  expect(String(await writerIn('en').at.exact(instant))).toMatch(
    /^<time datetime="2026-02-28T23:59:59.999Z">Feb 28, 2026, 11:59\sPM UTC<\/time>$/,
  )
  expect(String(await writerIn('zh-Hans').at.exact(instant))).toBe(
    '<time datetime="2026-02-28T23:59:59.999Z">2026年2月28日 23:59 UTC</time>',
  )
  expect(String(await writerIn('en').at.ago(instant))).toContain(' data-ago>')
})
