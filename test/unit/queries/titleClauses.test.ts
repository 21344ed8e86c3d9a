import fc from 'fast-check'
import type { TeamId } from '../../../src/domain/identifiers.ts'
import { titleSalt, titleSaltLength } from '../../../src/domain/title.ts'
import { exactTitle, similarTitle } from '../../../src/queries/titleClauses.ts'

const team = 'team-1' as TeamId
const salt = titleSalt(team)

/** The text of every clause that is compared with indexed terms. */
function comparedTexts(clause: unknown): string[] {
  if (typeof clause !== 'object' || clause === null) return []
  return Object.entries(clause).flatMap(([name, value]) =>
    name === 'value' && typeof value === 'string' ? [value] : comparedTexts(value),
  )
}

describe('exactTitle', () => {
  test('looks for the whole piece, or for every word as the beginning of one', () => {
    expect(exactTitle(team, '  Science, Quiz! ')).toEqual({
      bool: {
        should: [
          { wildcard: { titleFolded: { value: `${salt}*science quiz*` } } },
          {
            bool: {
              must: [
                { prefix: { titleWords: { value: `${salt}science` } } },
                { prefix: { titleWords: { value: `${salt}quiz` } } },
              ],
            },
          },
        ],
        minimum_should_match: 1,
      },
    })
  })

  test.each([
    ['***', '\\*\\*\\*'],
    ['?', '\\?'],
    ['\\', '\\\\'],
    ['🎉', '🎉'],
    ['❤️', '❤️'],
    ['—', '—'],
    [' ', ' '],
  ])('looks for %s, which has no word, as it was written', (typed, escaped) => {
    expect(exactTitle(team, typed)).toEqual({ wildcard: { titleRaw: { value: `${salt}*${escaped}*` } } })
  })

  test('asks for a repeated word once', () => {
    expect(comparedTexts(exactTitle(team, 'quiz Quiz QUIZ'))).toEqual([`${salt}*quiz quiz quiz*`, `${salt}quiz`])
  })
})

describe('similarTitle', () => {
  const clauseFor = (word: string): unknown => Object(similarTitle(team, word)?.bool?.must)[0]
  const fuzzy = (word: string, fuzziness: number, prefixLength: number) => ({
    fuzzy: { titleWords: { value: salt + word, fuzziness, prefix_length: prefixLength, max_expansions: 50 } },
  })

  test.each(['a', 'cat', 'año', 'quiz2', '2024', 'x1234567'])('%s has to be spelt as in the title', (word) => {
    expect(Object.keys(clauseFor(word) as object)).toEqual(['term'])
  })

  test.each([
    ['quiz', 1, titleSaltLength + 1],
    ['quizz', 1, titleSaltLength + 1],
    ['basics', 1, titleSaltLength],
    ['science', 1, titleSaltLength],
    ['sciences', 2, titleSaltLength],
    ['mathematics', 2, titleSaltLength],
  ])('%s may have %i mistakes', (word, fuzziness, prefixLength) => {
    expect(clauseFor(word)).toEqual(fuzzy(word, fuzziness, prefixLength))
  })

  test.each(['***', '🎉', '❤️', ' ', ''])('%p, which has no word, has nothing to misspell', (typed) => {
    expect(similarTitle(team, typed)).toBeUndefined()
  })
})

test('whatever is typed, only words of the team are compared', () => {
  const anyText = fc.string({ unit: 'binary', maxLength: 200 }).map((text) => text.toWellFormed())
  fc.assert(
    fc.property(anyText, (typed) => {
      const texts = [...comparedTexts(exactTitle(team, typed)), ...comparedTexts(similarTitle(team, typed))]
      expect(texts.length).toBeGreaterThan(0)
      expect(texts.every((text) => text.startsWith(salt))).toBe(true)
    }),
  )
})
