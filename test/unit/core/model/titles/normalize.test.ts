import fc from 'fast-check'
import type { TeamId } from '../../../../../src/core/model/ids.ts'
import { foldCharacters, titleSalt, titleSaltLength } from '../../../../../src/core/model/titles/normalize.ts'

const letters = fc.constantFrom(
  ...'aZ9 -_.,!ßẞøŁłÆœÐıİςΣσéÅñǿａＺ㎏ﬁカガヴヷｶﾞー漢字が게ק֑ם٣९ةکا\u0640\u064b\u0301\u0308\u3099\ufdfa\u0345\u200c\u200d´♯+#',
  '\ud83c\udf89',
  '\ud800',
)
const title = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: letters, maxLength: 40 }))
const longTitle = fc.tuple(letters, fc.integer({ min: 1_990, max: 2_010 })).map(([each, count]) => each.repeat(count))

test.each([
  ['Product Knowledge Quiz', 'product knowledge quiz'],
  ['Größenwahn & Maß', 'grossenwahn & mass'],
  ['STRASSE', 'strasse'],
  ['STRAẞE', 'strasse'],
  ['Smørrebrød', 'smorrebrod'],
  ['Łódź', 'lodz'],
  ['Đà Nẵng', 'da nang'],
  ['Ünïcödé', 'unicode'],
  ['U\u0308ni\u0308code', 'unicode'],
  ['Τελευταίος ΑΓΏΝΑΣ', 'τελευταιοσ αγωνασ'],
  ['Ёлка', 'елка'],
  ['İstanbul ILIK ılık', 'istanbul ilik ilik'],
  ['ﬁne ２０２６', 'fine 2026'],
  ['カタカナ', 'かたかな'],
  ['ｶﾞﾗｽ', 'がらす'],
  ['期末考试（二）', '期末考试(二)'],
  ['اِستِبيان', 'استبيان'],
  ['أسئلة ى', 'اسيله ي'],
  ['کتـــاب', 'كتاب'],
  ['שָׁלוֹם', 'שלומ'],
  ['۱۴۰۳ ٢٠٢٦ २०२६', '1403 2026 2026'],
  ['ज़रूरत', 'जरूरत'],
  ['don´t donʼt', "don't don't"],
  ['\u1ffd \u0374', "' '"],
  ['Self–Assessment (50 %) …', 'self–assessment (50 %) ...'],
  ['👩🏽‍🔬 ❤️ 1️⃣', '👩🔬 ❤ 1'],
  ['C♯', 'c#'],
])('%p is compared as %p', (written, folded) => {
  expect(foldCharacters(written)).toBe(folded)
})

test('marks that make another letter stay: Japanese, Hindi, Thai', () => {
  expect(foldCharacters('かが')).not.toBe(foldCharacters('かか'))
  expect(foldCharacters('हिन्दी')).not.toBe(foldCharacters('हनद'))
  expect(foldCharacters('ใกล้')).not.toBe(foldCharacters('ใกล'))
})

test('folding twice changes nothing', () => {
  fc.assert(
    fc.property(fc.oneof(title, longTitle), (text) => {
      expect(foldCharacters(foldCharacters(text))).toBe(foldCharacters(text))
    }),
  )
})

test('upper and lower case are the same title', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'abcxyzäöüéñøłσςдя 漢か') }), (text) => {
      expect(foldCharacters(text.toUpperCase())).toBe(foldCharacters(text))
    }),
  )
})

test('a composed letter is the same as its parts', () => {
  fc.assert(
    fc.property(fc.string({ unit: letters, maxLength: 40 }), (text) => {
      expect(foldCharacters(text.normalize('NFD'))).toBe(foldCharacters(text.normalize('NFC')))
    }),
  )
})

test('a folded title fits into a keyword of Elasticsearch', () => {
  fc.assert(
    fc.property(fc.oneof(title, longTitle), (text) => {
      expect(Buffer.byteLength(foldCharacters(text)) + titleSaltLength).toBeLessThanOrEqual(32_766)
    }),
  )
})

test('a title of characters that unfold to eighteen each is cut, not refused', () => {
  const folded = foldCharacters('\ufdfa'.repeat(2_000))
  expect(folded.length).toBeGreaterThan(1_900)
  expect(folded.length).toBeLessThanOrEqual(2_000)
})

test('what stands beyond the first 2,000 characters is not searched', () => {
  expect(foldCharacters(`${'a'.repeat(1_999)}bc`)).toBe(`${'a'.repeat(1_999)}b`)
})

test('the salt of a team has a fixed length and is its own', () => {
  const [a, b] = [titleSalt('team-1' as TeamId), titleSalt('team-2' as TeamId)]
  expect(a).toHaveLength(titleSaltLength)
  expect(b).toHaveLength(titleSaltLength)
  expect(a).not.toBe(b)
})
