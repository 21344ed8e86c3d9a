import fc from 'fast-check'
import type { TeamId } from '../../../src/domain/identifiers.ts'
import { foldedWords, foldTitle, rawTitle, titleSalt, titleSaltLength } from '../../../src/domain/title.ts'

const letters = fc.constantFrom(
  ...'aZ9 -_.,!ßẞøŁłÆœÐıİςΣσéÅñǿａＺ㎏ﬁカガヴヷｶﾞー漢字が게ק֑ا\u064b\u0301\u0308\u3099\ufdfa\u0345',
  '\ud83c\udf89',
  '\ud800',
)
const title = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: letters, maxLength: 40 }))
const longTitle = fc.tuple(letters, fc.integer({ min: 1_990, max: 2_010 })).map(([each, count]) => each.repeat(count))

test.each([
  ['Product Knowledge Quiz', 'product knowledge quiz'],
  ['  What?!  Really… ', 'what really'],
  ['Größenwahn & Maß', 'grossenwahn mass'],
  ['STRASSE', 'strasse'],
  ['STRAẞE', 'strasse'],
  ['Smørrebrød', 'smorrebrod'],
  ['Łódź', 'lodz'],
  ['Ünïcödé', 'unicode'],
  ['U\u0308ni\u0308code', 'unicode'],
  ['Τελευταίος ΑΓΏΝΑΣ', 'τελευταιοσ αγωνασ'],
  ['Ёлка', 'елка'],
  ['İstanbul', 'istanbul'],
  ['ﬁne ２０２６', 'fine 2026'],
  ['カタカナ', 'かたかな'],
  ['ｶﾞﾗｽ', 'がらす'],
  ['期末考试（二）', '期末考试 二'],
  ['اِستِبيان', 'استبيان'],
  ['🎉🎉', ''],
  ['___', ''],
  ['', ''],
])('%p is compared as %p', (written, folded) => {
  expect(foldTitle(written)).toBe(folded)
})

test('marks that make another letter stay: Japanese and Hindi', () => {
  expect(foldTitle('かが')).not.toBe(foldTitle('かか'))
  expect(foldTitle('हिन्दी')).not.toBe(foldTitle('हनद'))
})

test('folding twice changes nothing', () => {
  fc.assert(
    fc.property(fc.oneof(title, longTitle), (text) => {
      expect(foldTitle(foldTitle(text))).toBe(foldTitle(text))
    }),
  )
})

test('upper and lower case are the same title', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'abcxyzäöüéñøłσςдя 漢か') }), (text) => {
      expect(foldTitle(text.toUpperCase())).toBe(foldTitle(text))
    }),
  )
})

test('a composed letter is the same as its parts', () => {
  fc.assert(
    fc.property(fc.string({ unit: letters, maxLength: 40 }), (text) => {
      expect(foldTitle(text.normalize('NFD'))).toBe(foldTitle(text.normalize('NFC')))
    }),
  )
})

test('words of a title, written together, are found in it as a substring', () => {
  const word = fc.string({ unit: fc.constantFrom(...'abcÄöéßøカ漢字9'), minLength: 1, maxLength: 8 })
  const mark = fc.constantFrom(' ', ' - ', ': ', '  ')
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), mark, fc.nat(), fc.nat(), (words, between, a, b) => {
      const [from, to] = [a % words.length, b % words.length].sort((x, y) => x - y)
      const query = words.slice(from, (to ?? 0) + 1).join(between)
      expect(foldTitle(words.join(between))).toContain(foldTitle(query))
    }),
  )
})

test('a folded title is letters, digits and single spaces, and fits into a keyword of Elasticsearch', () => {
  fc.assert(
    fc.property(fc.oneof(title, longTitle), (text) => {
      const folded = foldTitle(text)
      expect(folded).toMatch(/^(?:[\p{L}\p{N}\p{M}]+(?: [\p{L}\p{N}\p{M}]+)*)?$/u)
      expect(Buffer.byteLength(folded) + titleSaltLength).toBeLessThanOrEqual(32_766)
      expect(Buffer.byteLength(rawTitle(text)) + titleSaltLength).toBeLessThanOrEqual(32_766)
    }),
  )
})

test('a title of characters that unfold to eighteen each is cut, not refused', () => {
  const folded = foldTitle('\ufdfa'.repeat(2_000))
  expect(folded.length).toBeGreaterThan(1_900)
  expect(folded.length).toBeLessThanOrEqual(2_000)
})

test('what stands beyond the first 2,000 characters is not searched', () => {
  expect(foldTitle(`${'a'.repeat(1_999)}bc`)).toBe(`${'a'.repeat(1_999)}b`)
})

describe('The words of a title', () => {
  test.each([
    ['product knowledge quiz', ['product', 'knowledge', 'quiz']],
    ['期末考试 b2', ['期', '末', '考', '试', 'b2']],
    ['ひらa', ['ひ', 'ら', 'a']],
    ['한국어 퀴즈', ['한국어', '퀴즈']],
    ['', []],
  ])('of %p are %p', (folded, words) => {
    expect(foldedWords(folded)).toEqual(words)
  })

  test('hold no space, are never empty, and are cut before Elasticsearch would cut them', () => {
    fc.assert(
      fc.property(fc.oneof(title, longTitle), (text) => {
        for (const word of foldedWords(foldTitle(text))) {
          expect(word).toMatch(/^\S{1,100}$/)
          expect(word.isWellFormed()).toBe(true)
        }
      }),
    )
  })
})

test('a title as it was written keeps what folding drops, in lower case', () => {
  expect(rawTitle('🎉 Größe?')).toBe('🎉 größe?')
  expect(rawTitle('half \ud83d').isWellFormed()).toBe(true)
})

test('the salt of a team is of fixed length, is its own, and holds what no folded word holds', () => {
  const salts = ['acme', 'acme2', 'x'.repeat(128)].map((team) => titleSalt(team as TeamId))
  expect(new Set(salts).size).toBe(3)
  for (const salt of salts)
    expect([salt.slice(0, -1), salt.at(-1)]).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/), '\u0001'])
  expect(salts[0]).toHaveLength(titleSaltLength)
  expect(foldTitle(salts[0] ?? '')).not.toContain('\u0001')
})
