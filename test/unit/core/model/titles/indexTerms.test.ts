import fc from 'fast-check'
import { titleTerms } from '../../../../../src/core/model/titles/indexTerms.ts'

describe('A title is found by its words', () => {
  test.each([
    ['Product knowledge quiz', ['product', 'knowledge', 'quiz']],
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
  ])('%p: %p', (title, words) => {
    expect(new Set(titleTerms(title).words)).toEqual(new Set(words))
  })
})

describe('A title is found with spaces left out', () => {
  test.each([
    ['Customer Feedback Form', ['customerfeedback', 'customerfeedbackform', 'feedbackform']],
    ['Go at it', ['goatit']],
    ['Pre-Test Quiz', ['pretestquiz']],
    ['Exam 2025 11', ['exam2025']],
    ['한국어 시험', ['한국', '국어', '시험', '한국어시험']],
    ['数学 期末', []],
  ])('%p: %p', (title, joined) => {
    expect(new Set(titleTerms(title).joined)).toEqual(new Set(joined))
  })
})

test('a title is found by the beginnings of long words, in alphabets only', () => {
  expect(titleTerms('Geography of परीक्षाओं quiz').starts).toEqual(['geogr', 'geogra', 'geograp', 'geograph'])
})

test('a word that is longer than Elasticsearch takes in one term is kept in pieces that overlap by half', () => {
  const word = Array.from({ length: 500 }, (_, at) => String.fromCodePoint(0x10480 + (at % 30))).join('')
  const { words } = titleTerms(word)
  const letters = [...word]
  for (const term of words) expect(term.length).toBeLessThanOrEqual(200)
  for (let from = 0; from + 50 <= letters.length; from++) {
    const piece = letters.slice(from, from + 50).join('')
    expect(words.some((term) => term.includes(piece))).toBe(true)
  }
})

test('terms hold no white space, and a title of 2,000 characters has a bounded number of them', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
      const { words, joined, starts } = titleTerms(text.repeat(40))
      const terms = [...words, ...joined, ...starts]
      expect(terms.every((term) => /^\S+$/u.test(term))).toBe(true)
      expect(terms.length).toBeLessThan(12_000)
    }),
  )
})
