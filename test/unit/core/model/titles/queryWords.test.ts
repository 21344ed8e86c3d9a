import { allowedMistakes, requiredWords, soughtWords } from '../../../../../src/core/model/titles/queryWords.ts'
import { textOf } from '../../../../../src/core/model/titles/tokenize.ts'

const texts = (typed: string): string[] => soughtWords(typed).map(textOf)
const required = (typed: string): string[] => requiredWords(soughtWords(typed)).map(textOf)

describe('What is typed is taken apart', () => {
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
  ])('%p: %p', (typed, words) => {
    expect(texts(typed)).toEqual(words)
  })
})

describe('A title may lack English function words', () => {
  test.each([
    ['the math quiz', ['math', 'quiz']],
    ['math & science', ['math', 'science']],
    ['math and science', ['math', 'science']],
  ])('%p needs %p', (typed, words) => {
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

describe('Mistakes that a word is forgiven', () => {
  test.each([
    ['cat', 0],
    ['quiz', 1],
    ['science', 1],
    ['sciences', 2],
    ['вопрос', 1],
    ['שאלונימ', 1],
    ['あんけと', 1],
    ['중간고사', 1],
    ['परीक्षक', 0],
    ['परीक्षाओं', 1],
    ['แบบสอบ', 0],
    ['2024', 0],
    ['x1234567', 0],
    ['notepad++', 0],
  ])('%s: %i', (word, mistakes) => {
    expect(allowedMistakes(word)).toBe(mistakes)
  })
})
