import fc from 'fast-check'
import { foldTitle, titleWords } from '../../../../../src/core/model/titles/tokenize.ts'

const letters = fc.constantFrom(
  ..."aZ9 -_.,!ßøŁ+#&'’éａｶﾞー漢字がカ게서ק֑٣९ةक्षी\u0301\u0308\u3099\ufdfa\u200c\u200d",
  '🎉',
  '❤️',
  '🇯🇵',
  '🇯',
  '\ud800',
)
const title = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: letters, maxLength: 60 }))
const longAndShort = fc.oneof(
  title,
  title.map((text) => text.repeat(100)),
)

test.each([
  ['  What?!  Really… ', 'what really'],
  ['COVID-19 safety', 'covid 19 safety'],
  ['期末考试（二）', '期末考试 二'],
  ['2026年期末', '2026 年期末'],
  ['HR问卷 Level2', 'hr 问卷 level 2'],
  ['C++, C# & A+ / #1 +49 1+1', 'c++ c# a+ 1 49 1 1'],
  ['Party 🎉🎉 ❤️', 'party 🎉 🎉 ❤'],
  ['🇯🇵🇰🇷', '🇯🇵 🇰🇷'],
  ['می‌خواهم', 'مي خواهم'],
  ['⺀ part ˪', '⺀ part ˪'],
  ['___', ''],
  ['第1〇章', '第 1 〇章'],
  ['', ''],
])('%p is searched for pieces as %p', (written, folded) => {
  expect(foldTitle(written)).toBe(folded)
})

test('words are told apart by kind, and by what stands before them', () => {
  expect(titleWords("Don't: covid19 数 한국어🎉").map(({ kind, text, gap }) => `${gap} ${kind} ${text}`)).toEqual([
    'none letters don',
    'mark letters t',
    'space letters covid',
    'none number 19',
    'space cjk 数',
    'space hangul 한국어',
    'none emoji 🎉',
  ])
})

test('punctuation right before a word marks it, a piece of a letter does not', () => {
  const marked = titleWords("x .net (emea) don't - so\u094d\u0937").filter(({ isMarked }) => isMarked)
  expect(marked.map(({ text }) => text)).toEqual(['net', 'emea', 't'])
  expect(titleWords('\u094d\u0937')).toMatchObject([{ isMarked: false }])
})

test('folding twice changes nothing', () => {
  fc.assert(
    fc.property(longAndShort, (text) => {
      expect(foldTitle(foldTitle(text))).toBe(foldTitle(text))
    }),
  )
})

test('a folded title is words between single spaces, no longer than what is searched', () => {
  fc.assert(
    fc.property(longAndShort, (text) => {
      const folded = foldTitle(text)
      expect(folded).toMatch(/^(?:\S+(?: \S+)*)?$/u)
      // A sign like ⺀ or ˪ is no letter, but one of a script that is read sign by sign.
      expect(folded).toMatch(/^[\p{L}\p{N}\p{M}\p{RI}\p{ExtPict}\p{sc=Han}\p{sc=Bopomofo}+# ]*$/u)
      expect(folded.length).toBeLessThanOrEqual(2_000)
    }),
  )
})
