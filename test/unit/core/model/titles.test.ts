import fc from 'fast-check'
import { foldCharacters } from '../../../../src/core/model/foldCharacters.ts'
import type { TeamId } from '../../../../src/core/model/ids.ts'
import * as titles from '../../../../src/core/model/titles.ts'

const { allowedMistakes, foldTitle, requiredParts, soughtReadings } = titles
const { textOf, titleSalt, titleSaltLength, titleTerms, titleWords } = titles

const letters = fc.constantFrom(
  ...'aZ9 -_.,!ßẞøŁłÆœÐıİςΣσéÅñǿａＺ㎏ﬁカガヴヷｶﾞー漢字が게ק֑ם٣९ةکا\u0640\u064b\u0301\u0308\u3099\ufdfa\u0345\u200c\u200d´♯+#',
  ..."&'’서क्षी",
  ...['🎉', '❤️', '🇯🇵', '🇯'],
  '\ud800',
)
const title = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: letters, maxLength: 60 }))
const longTitle = fc.tuple(letters, fc.integer({ min: 1_990, max: 2_010 })).map(([each, count]) => each.repeat(count))

test.each([
  ['Größenwahn & Maß', 'grossenwahn & mass'],
  ['STRAẞE', 'strasse'],
  ['Smørrebrød', 'smorrebrod'],
  ['Łódź', 'lodz'],
  ['Đà Nẵng', 'da nang'],
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
  // Pa'o and Eastern Pwo Karen: Unicode has the digits of one right after those of the other.
  ['\u{116d2}\u{116d0}\u{116d9} \u{116dc}\u{116da}\u{116e3}', '209 209'],
  ['ज़रूरत', 'जरूरत'],
  ['don´t donʼt', "don't don't"],
  ['\u1ffd \u0374', "' '"],
  ['Self–Assessment (50 %) …', 'self–assessment (50 %) ...'],
  ['👩🏽‍🔬 ❤️ 1️⃣', '👩🔬 ❤ 1'],
  ['C♯', 'c#'],
])('%p is compared as %p', (written, folded) => {
  expect(foldCharacters(written)).toBe(folded)
})

test('combining marks that make another letter stay: Japanese, Hindi, Thai', () => {
  expect(foldCharacters('かが')).not.toBe(foldCharacters('かか'))
  expect(foldCharacters('हिन्दी')).not.toBe(foldCharacters('हनद'))
  expect(foldCharacters('ใกล้')).not.toBe(foldCharacters('ใกล'))
})

const longAndShort = fc.oneof(
  title,
  longTitle,
  title.map((text) => text.repeat(100)),
)

test.each([
  ['characters', foldCharacters],
  ['titles', foldTitle],
])('folding %s twice changes nothing', (_what, fold) => {
  fc.assert(
    fc.property(longAndShort, (text) => {
      expect(fold(fold(text))).toBe(fold(text))
    }),
    // Marks without a letter, of which one is Hebrew.
    { examples: [['\u0301\u0591'], ['\u0301\u0640\u0591\u0301']] },
  )
})

test('upper and lower case are the same title', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'abcxyzäöüéñøłσςдя 漢か') }), (text) => {
      expect(foldCharacters(text.toUpperCase())).toBe(foldCharacters(text))
    }),
  )
})

test('a precomposed letter equals its decomposed form', () => {
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

test('text after the first 2,000 characters is not searched', () => {
  expect(foldCharacters(`${'a'.repeat(1_999)}bc`)).toBe(`${'a'.repeat(1_999)}b`)
  // A tatweel is left out, but was one of them.
  expect(foldCharacters(`${'\u0640'.repeat(1_999)}bc`)).toBe('b')
})

test('each team has its own salt of fixed length, without characters that have a meaning in queries', () => {
  const [a, b] = [titleSalt('team-1' as TeamId), titleSalt('team-2' as TeamId)]
  expect(a).toHaveLength(titleSaltLength)
  expect(b).toHaveLength(titleSaltLength)
  expect(a).not.toBe(b)
  for (let team = 0; team < 100; team++) expect(titleSalt(`team-${team}` as TeamId)).toMatch(/^[\w-]+$/)
})

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

test('a title is cut into words by kind of character, with the separator before each', () => {
  expect(titleWords("Don't: covid19 数 한국어🎉").map(({ kind, text, gap }) => `${gap} ${kind} ${text}`)).toEqual([
    ...['none letters don', 'mark letters t', 'space letters covid', 'none number 19'],
    ...['space cjk 数', 'space hangul 한국어', 'none emoji 🎉'],
  ])
})

test('punctuation right before a word marks it, and a combining mark does not', () => {
  const marked = titleWords("x .net (emea) don't - so\u094d\u0937").filter(({ isMarked }) => isMarked)
  expect(marked.map(({ text }) => text)).toEqual(['net', 'emea', 't'])
  expect(titleWords('\u094d\u0937')).toMatchObject([{ isMarked: false }])
})

test('a folded title is words with single spaces between them, no longer than the searched text', () => {
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

test.each([
  ['COVID-19', ['covid', '19', 'covid19']],
  ["What's on", ['what', 's', 'on', 'whats']],
  ['R.S.V.P.', ['r', 's', 'v', 'p', 'rsvp', 'svp', 'vp']],
  ['2026-11-21', ['2026', '11', '21']],
  ['期末考试', ['期末', '末考', '考试', '试']],
  ['期末 考试', ['期末', '末', '考试', '试']],
  ['第12章', ['12', '第', '第12', '12章', '章']],
  ['HR (问卷)', ['hr', 'hr问', '问卷', '卷']],
  ['アンケート', ['あん', 'んけ', 'けー', 'ーと', 'と', 'あんけーと']],
  ['社員サーベイ', ['社員', '員さ', 'さー', 'ーべ', 'べい', 'い', '社員', 'さーべい']],
  ['한국어 퀴즈', ['한국어', '퀴즈']],
  ['🎉 ok', ['🎉', 'ok']],
  ['!', []],
])('the title %p is found by its words: %p', (title, words) => {
  expect(new Set(titleTerms(title).words)).toEqual(new Set(words))
})

test.each([
  ['10,000 steps', '10000'],
  ['10.000 Schritte', '10000'],
  ["10'000 Schritte", '10000'],
  ['10\u2019000 Schritte', '10000'],
  ['10 000 kroků', '10000'],
  ['١٠٬٠٠٠ خطوة', '10000'],
  ['1,000,000 users', '1000000'],
  ['1,00,000 users', '100000'],
  ['12,34,567 users', '1234567'],
  ['1,000+ users', '1000+'],
])('the title %p is also found by the number without its separators: %p', (title, number) => {
  expect(titleTerms(title).words).toContain(number)
  expect(foldTitle(title)).not.toContain(number)
  expect(soughtReadings(title).map((words) => words.map(textOf))[1]).toContain(number)
})

test.each(['1,25', '1.00', '1000,000', '10, 000', '10;000', '10,0000', '1,000,00', 'a,000', '1000 and 200'])(
  'the digits of %p are not joined to one number',
  (title) => {
    expect(soughtReadings(title)).toHaveLength(1)
    expect(titleTerms(title).words.filter((word) => /^\d{5,}$/.test(word))).toEqual([])
  },
)

test('digits may be grouped by two with commas only', () => {
  expect(titleTerms('1.00.000').words).not.toContain('100000')
})

test.each([
  ['Customer Feedback Form', ['customerfeedback', 'customerfeedbackform', 'feedbackform']],
  ['Go at it', ['goatit']],
  ['Pre-Test Quiz', ['pretestquiz']],
  ['Exam 2025 11', ['exam2025']],
  ['한국어 시험', ['한국', '국어', '시험', '한국어시험']],
  ['数学 期末', []],
])('the title %p is found with spaces left out: %p', (title, joined) => {
  expect(new Set(titleTerms(title).joined)).toEqual(new Set(joined))
})

test('a title is found by the beginnings of long words in alphabetic scripts', () => {
  expect(titleTerms('Geography of परीक्षाओं quiz').starts).toEqual(['geogr', 'geogra', 'geograp', 'geograph'])
})

test.each([
  [
    'knowledgeable',
    ['knowl', 'knowle', 'knowled', 'knowledg', 'knowledge', 'knowledgea', 'knowledgeab', 'knowledgeabl'],
  ],
  [
    'counterproductively',
    ['count', 'counte', 'counter', 'counterp', 'counterpr', 'counterpro', 'counterprod', 'counterprodu'],
  ],
  ['survey form', ['surve']],
  ['рынок вопросы', ['вопро', 'вопрос']],
  ['2026 アンケートサーベイ', []],
])('the beginnings of %p, by which it is found while it is typed, have 5 to 12 letters: %j', (title, starts) => {
  expect(titleTerms(title).starts).toEqual(starts)
})

test('a title has each term once, and joins words to at most 40 letters', () => {
  const { words, starts } = titleTerms('quizzes Quizzes - quizzes-quizzes')
  expect(words.filter((word) => word === 'quizzes')).toHaveLength(1)
  expect(starts).toEqual(['quizz', 'quizze'])
  expect(titleTerms(`${'a'.repeat(30)} ${'b'.repeat(10)}`).joined).toEqual(['a'.repeat(30) + 'b'.repeat(10)])
  expect(titleTerms(`${'a'.repeat(30)} ${'b'.repeat(11)}`).joined).toEqual([])
  const { words: joined } = titleTerms(`x-${'a'.repeat(30)}-${'b'.repeat(30)}`)
  expect(joined).toContain('a'.repeat(30) + 'b'.repeat(10))
  expect(joined).toContain(`x${'a'.repeat(30)}${'b'.repeat(30)}`)
})

test('a folded title ends with the last word that fits into 2,000 characters', () => {
  expect(foldTitle(`${'a'.repeat(990)} ${'b'.repeat(1_008)} c`)).toBe(`${'a'.repeat(990)} ${'b'.repeat(1_008)}`)
  expect(foldTitle('ﬃ '.repeat(666))).toBe('ffi '.repeat(500).trim())
  expect(foldTitle('a1'.repeat(1_000))).toBe('a 1 '.repeat(500).trim())
  expect(foldTitle(`bb${'1a'.repeat(999)}`)).toHaveLength(2_000)
})

test.each([
  ['e-mail', true],
  ["don't", true],
  ['covid-19', true],
  ['19th', true],
  ['quiz', true],
  ['한국-quiz', true],
  ['2026-11', false],
  ['数学', false],
  ['quiz数', false],
  ['数quiz', false],
  ['quiz🎉', false],
])('whether the parts of %p may be written as one word: %p', (typed, isOne) => {
  expect(titles.areJoinable(titleWords(typed))).toBe(isOne)
})

test.each([
  ['社員サーベイ', ['社員', 'さーべい']],
  ['サー ベイ', ['さー', 'べい']],
  ['サーベイ数', ['さーべい', '数']],
  ['quizサーベイ', ['quiz', 'さーべい']],
])('%p is cut into runs of kana and other words: %j', (typed, parts) => {
  expect(titles.kanaParts(titleWords(typed)).map(textOf)).toEqual(parts)
})

test('a long text is cut into consecutive or overlapping pieces', () => {
  expect(titles.piecesOf('abcdefg', 3)).toEqual(['abc', 'def', 'g'])
  expect(titles.piecesOf('abcdefghij', 3, 2)).toEqual(['abcdef', 'defghi', 'ghij'])
  expect(titles.piecesOf('abcdef', 3)).toEqual(['abc', 'def'])
  expect(titles.piecesOf('🎉🎂', 1)).toEqual(['🎉', '🎂'])
  expect(titles.piecesOf('', 3)).toEqual([''])
})

test('a word that is too long for one term of Elasticsearch is stored in pieces that overlap by half', () => {
  const word = Array.from({ length: 500 }, (_, at) => String.fromCodePoint(0x10480 + (at % 30))).join('')
  const { words } = titleTerms(word)
  const letters = [...word]
  for (const term of words) expect(term.length).toBeLessThanOrEqual(200)
  for (let from = 0; from + 50 <= letters.length; from++) {
    const piece = letters.slice(from, from + 50).join('')
    expect(words.some((term) => term.includes(piece))).toBe(true)
  }
})

test('terms have no white space, and a title of 2,000 characters has a bounded number of them', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
      const { words, joined, starts } = titleTerms(text.repeat(40))
      const terms = [...words, ...joined, ...starts]
      expect(terms.every((term) => /^\S+$/u.test(term))).toBe(true)
      expect(terms.length).toBeLessThan(12_000)
    }),
  )
})

const soughtWords = (typed: string): titles.SoughtPart[] => soughtReadings(typed)[0] ?? []
const texts = (typed: string): string[] => soughtWords(typed).map(textOf)
const required = (typed: string): string[] => requiredParts(soughtWords(typed)).map(textOf)

test.each([
  ['final exam', ['final', 'exam']],
  ["don't e-mail covid-19", ['dont', 'email', 'covid19']],
  ['covid19', ['covid19']],
  ['数学 期末', ['数学', '期末']],
  ['问卷(2026)', ['问卷', '2026']],
  ['2026年期末', ['2026年期末']],
  ['party🎉🎂', ['party', '🎉', '🎂']],
  ['quiz Quiz QUIZ', ['quiz']],
  ['?!', []],
])('the typed text %p is cut into words: %p', (typed, words) => {
  expect(texts(typed)).toEqual(words)
})

test.each([
  ['long words', 'cat 한국', ['cat', '한국']],
  ['no short words', 'ab 한', []],
  ['no numbers, emoji or ideographs', '2026 🎉 数学', []],
  ['no words after punctuation', '.net #tag (emea)', []],
])('a search finds %s inside other words: of %p, %j', (_what, typed, words) => {
  expect(
    titleWords(typed)
      .filter(titles.mayStandInside)
      .map(({ text }) => text),
  ).toEqual(words)
})

describe('A title may lack English function words', () => {
  test.each([
    ['the math quiz', ['math', 'quiz']],
    ['math & science', ['math', 'science']],
    ['math and science', ['math', 'science']],
  ])('so a search for %p needs %p', (typed, words) => {
    expect(required(typed)).toEqual(words)
  })

  test.each([
    ['the last one, which may be the beginning of another', 'form a', ['form', 'a']],
    ['all of them', 'to be', ['to', 'be']],
    ['the only one', 'the', ['the']],
  ])('but not %s', (_what, typed, words) => {
    expect(required(typed)).toEqual(words)
  })
})

test.each([
  [0, ['cat', 'परीक्षक', 'แบบสอบ', '2024', 'x1234567', 'notepad++', 'あんけ', '중간고', 'a'.repeat(51)]],
  [
    1,
    ['quiz', 'science', 'вопрос', 'שאלונימ', 'あんけと', 'あんけーとさー', '중간고사', '중간고사중간고사', 'परीक्षाओं'],
  ],
  [2, ['sciences', 'あんけーとさーべ', 'a'.repeat(50)]],
])('%i typos are tolerated in the words %j', (mistakes, words) => {
  expect(words.filter((word) => allowedMistakes(word) !== mistakes)).toEqual([])
})
