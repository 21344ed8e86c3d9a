import type { TeamId } from '../domain/identifiers.ts'
import { foldedWords, foldTitle, rawTitle, titleSalt, titleSaltLength } from '../domain/title.ts'
import type { Clause } from './clauses.ts'

/** How many words of a team one misspelt word may stand for. */
const maxExpansions = 50

/**
 * Titles that hold what was typed: as one piece, or every word of it as the beginning of a word. What has neither letter nor
 * digit (punctuation, emoji) is looked for in the title as it was written.
 */
export function exactTitle(teamId: TeamId, typed: string): Clause {
  const salt = titleSalt(teamId)
  const folded = foldTitle(typed)
  if (folded === '') return { wildcard: { titleRaw: { value: `${salt}*${escapeWildcards(rawTitle(typed))}*` } } }
  return {
    bool: {
      should: [
        { wildcard: { titleFolded: { value: `${salt}*${folded}*` } } },
        { bool: { must: wordsOf(folded).map((word) => ({ prefix: { titleWords: { value: salt + word } } })) } },
      ],
      minimum_should_match: 1,
    },
  }
}

/** Titles that hold every word that was typed, misspelt a little. Undefined when nothing typed can be misspelt. */
export function similarTitle(teamId: TeamId, typed: string): Clause | undefined {
  const folded = foldTitle(typed)
  if (folded === '') return undefined
  const salt = titleSalt(teamId)
  return { bool: { must: wordsOf(folded).map((word) => similarWord(salt, word)) } }
}

function similarWord(salt: string, word: string): Clause {
  const letters = [...word].length
  const value = salt + word
  if (letters < 4 || /\p{N}/u.test(word)) return { term: { titleWords: { value } } }
  return {
    fuzzy: {
      titleWords: {
        value,
        fuzziness: letters < 8 ? 1 : 2,
        prefix_length: titleSaltLength + (letters < 6 ? 1 : 0),
        max_expansions: maxExpansions,
      },
    },
  }
}

const wordsOf = (folded: string): string[] => [...new Set(foldedWords(folded))]

const escapeWildcards = (text: string): string => text.replace(/[*?\\]/g, '\\$&')
