import { createForms } from '../../../../../tools/bench/search/forms.ts'
import { exactKinds, holds, misspeltKinds, typedTexts } from '../../../../../tools/bench/search/typed.ts'

const { largestTeam, ofTeam } = createForms({ forms: 5_000, teams: 20 })
const forms = [...ofTeam(largestTeam.id)]

test.each(exactKinds)('%s: typed as its title has it, and no text twice', (kind) => {
  const texts = typedTexts(kind, forms, 100)
  expect(new Set(texts.map(({ typed }) => typed)).size).toBe(100)
  for (const { typed, source } of texts) expect([source.title.text, holds(source.title.text, typed)]).toContain(true)
})

test('two words are one piece of their title; a part is no whole word', () => {
  for (const { typed, source } of typedTexts('two words', forms, 50)) expect(source.title.text).toContain(typed)
  for (const { typed, source } of typedTexts('part of a word', forms, 50)) {
    const words = source.title.text.split(/[^\p{L}]+/u)
    expect(words.some((word) => word.startsWith(typed) && word !== typed)).toBe(true)
  }
})

test.each(misspeltKinds)('%s: begins as the title has it, and is hardly ever in it', (kind) => {
  const texts = typedTexts(kind, forms, 100)
  const initials = (text: string): string[] => text.split(' ').map((word) => word.charAt(0))
  for (const { typed, source } of texts) {
    const ofTitle = initials(source.title.text.replace(/[^\p{L}\p{N}]+/gu, ' '))
    expect(initials(typed).every((initial) => ofTitle.includes(initial))).toBe(true)
  }
  expect(texts.filter(({ typed, source }) => holds(source.title.text, typed)).length).toBeLessThan(10)
})

test('the same texts at every call; as many as a few titles give', () => {
  expect(typedTexts('one word', forms, 20)).toEqual(typedTexts('one word', forms, 20))
  const few = typedTexts('one word', forms.slice(0, 2), 1_000)
  expect(few.length).toBeGreaterThan(1)
  expect(few.length).toBeLessThan(15)
})

test('a title holds a piece of it, or words that begin its words; marks and case do not count', () => {
  const title = 'Été: Final Exam (copy)'
  expect(['nal ex', 'ETE', 'copy fin', 'exam été', 'e f e c'].map((typed) => holds(title, typed))).toEqual(
    Array.from({ length: 5 }, () => true),
  )
  expect(['finel', 'exams', 'final quiz', 'copyright'].some((typed) => holds(title, typed))).toBe(false)
})
