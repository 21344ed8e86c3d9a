import { isDeepStrictEqual } from 'node:util'
import type { TeamId } from '../../core/model/ids.ts'
import {
  allowedMistakes,
  areJoinable,
  foldCharacters,
  foldTitle,
  hangulPairs,
  isKana,
  isSpelt,
  kanaParts,
  lengthOf,
  mayStandInside,
  minJoinedLength,
  minStartLength,
  minWordLength,
  pair,
  pieceLength,
  piecesOf,
  requiredWords,
  type SoughtWord,
  soughtWords,
  type TitleWord,
  textOf,
  titleSalt,
  titleSaltLength,
} from '../../core/model/titles.ts'
import type { Clause } from './clauses.ts'

/** The number of indexed words of a team that a fuzzy query for one word may expand to. */
const maxExpansions = 50
/** The first so many words may stand inside words of the title and be misspelt. Later ones may not, which bounds the cost of a search. */
const maxFreeWords = 8
/** Longer texts are searched for in pieces: Elasticsearch refuses more than 314 equal characters. Folding makes four of one "⑽". */
const wholeLength = 300
/** A word or number of at least this length, typed beside characters, may stand elsewhere in the title: 2026期末 finds "期末考试 2026". */
const minLoneLength = 3
/** In a word of at least this length the first letter may be wrong, too. */
const minFreeLength = 6

/**
 * Finds titles that hold the typed text as one piece, or all of its words in any order, anywhere inside words of the title. Of several words,
 * those of one or two letters, or of digits, match only at the beginning. Punctuation counts where it joins words or stands alone.
 */
export function exactTitle(teamId: TeamId, typed: string): Clause {
  const terms = termsOf(teamId)
  const sought = soughtWords(typed)
  const [first, ...others] = sought
  const folded = foldCharacters(typed)
  if (first === undefined) return terms.written(folded)
  const mayBeginInside = isPlain(first) && !first[0].isMarked
  const isOneWord = others.length === 0 && mayBeginInside
  const words = isOneWord
    ? terms.holding(first[0].text)
    : all(withFreedom(requiredWords(sought)).map((word) => exactWord(terms, word)))
  // Where punctuation joins words, the text may begin inside a word of the title, where a search by words misses it.
  const isPunctuated = sought.some((word) => word.slice(1).some(({ gap }) => gap === 'mark'))
  return any([
    ...(isPunctuated || /[+#]$/.test(folded) ? [terms.written(folded)] : []),
    // The words find a text that begins inside a word of the title, unless its first word is too short to match inside one.
    ...(mayBeginInside && !isOneWord && !mayStandInside(first[0]) ? [terms.piece(foldTitle(typed))] : []),
    words,
  ])
}

/** Clauses to be tried in this order once no title holds the words as typed: one mistake in a word, then two, which take four times as long. */
export function similarTitles(teamId: TeamId, typed: string): Clause[] {
  const words = withFreedom(requiredWords(soughtWords(typed)))
  const [once = [], twice = []] = [1, 2].map((mostMistakes) => {
    const terms = termsOf(teamId, mostMistakes)
    return anySimilar(words, (word) => ({
      // A single word is not searched for as typed again: that search has found nothing.
      exact: words.length === 1 ? [] : [exactWord(terms, word)],
      similar: word.isFree ? similarWord(terms, word.word) : [],
    }))
  })
  return isDeepStrictEqual(once, twice) ? once : [...once, ...twice]
}

/** Matches all parts, each as typed or similar; none if no part has anything similar. */
function anySimilar<Part>(
  parts: readonly Part[],
  clausesOf: (part: Part) => { readonly exact: readonly Clause[]; readonly similar: readonly Clause[] },
): Clause[] {
  const clauses = parts.map(clausesOf)
  if (clauses.every(({ similar }) => similar.length === 0)) return []
  return [all(clauses.map(({ exact, similar }) => any([...exact, ...similar])))]
}

type FreeWord = { readonly word: SoughtWord; readonly isFirst: boolean; readonly isFree: boolean }

/** Marks the words that may stand inside words of the title and be misspelt: the first `maxFreeWords`. */
function withFreedom(words: readonly SoughtWord[]): FreeWord[] {
  let count = 0
  return words.map((word, at) => {
    count += word.every(isSpelt) ? word.length : kanaParts(word).length
    return { word, isFirst: at === 0, isFree: count <= maxFreeWords }
  })
}

function exactWord(terms: Terms, { word, isFirst, isFree }: FreeWord): Clause {
  if (!word.every(isSpelt)) return covered(terms, word, isFirst && !word[0].isMarked)
  if (!isFree) return all(word.map(({ text }) => terms.starting(text)))
  if (isPlain(word)) return exactPlain(terms, word[0])
  return any([...exactJoined(terms, word), terms.piece(` ${word.map(({ text }) => text).join(' ')}`)])
}

const exactPlain = (terms: Terms, word: TitleWord): Clause =>
  mayStandInside(word) ? terms.holding(word.text) : terms.starting(word.text)

/** Matches parts as one word: `e-mail` finds "email", `covid19` finds "COVID-19". Short ones match whole words: `a/b` does not find "about". */
function exactJoined(terms: Terms, words: SoughtWord): Clause[] {
  if (!areJoinable(words)) return []
  const text = textOf(words)
  if (words.every(({ isMarked }) => !isMarked)) return [terms.holding(text)]
  return [lengthOf(text) < minWordLength ? terms.equal(text) : terms.starting(text)]
}

/**
 * Matches titles in which every typed character stands beside one of the neighbours with which it was typed: 四级英语 finds 英语四级,
 * 学数 does not find 数学. A word before the first character may begin inside a word of the title.
 */
function covered(terms: Terms, words: SoughtWord, mayBeginInside = false): Clause {
  const [only, ...others] = words
  if (others.length === 0) return only.kind === 'emoji' ? terms.equal(only.text) : terms.starting(only.text)
  const pairs = words.slice(1).map((word, at) => {
    const before = words[at] ?? only
    const both = pair(before, word)
    if (mayBeginInside && at === 0 && isSpelt(before)) return terms.holding(both)
    // A word that follows a character matches the beginning of a word of the title.
    return isSpelt(word) ? terms.starting(both) : terms.equal(both)
  })
  return all(
    words.map((word, at) => {
      const alone = isSpelt(word) && lengthOf(word.text) >= minLoneLength ? [terms.starting(word.text)] : []
      return any([...pairs.slice(Math.max(0, at - 1), at + 1), ...alone])
    }),
  )
}

/** Clauses for what else a typed word may have meant; none if the word allows no mistake. */
function similarWord(terms: Terms, words: SoughtWord): Clause[] {
  if (!words.every(isSpelt)) return similarKana(terms, words)
  if (isPlain(words)) return similarPlain(terms, words[0])
  const each = anySimilar(words, (word) => ({ exact: [exactPlain(terms, word)], similar: similarPlain(terms, word) }))
  return areJoinable(words) ? [...each, ...similarText(terms, textOf(words))] : each
}

function similarPlain(terms: Terms, word: TitleWord): Clause[] {
  const pairs = hangulPairs(word).map(terms.joined)
  return [...(pairs.length < 2 ? [] : [inPairs(pairs)]), ...similarText(terms, word.text)]
}

/** Matches titles in which every syllable stands beside one of its neighbours: 한국어능력시험 finds "한국어 능력 시험". */
const inPairs = (pairs: readonly Clause[]): Clause =>
  all(Array.from({ length: pairs.length + 1 }, (_, at) => any(pairs.slice(Math.max(0, at - 1), at + 1))))

function similarText(terms: Terms, text: string): Clause[] {
  const length = lengthOf(text)
  const mistakes = allowedMistakes(text)
  return [
    ...(length < minJoinedLength || length > pieceLength ? [] : [terms.joined(text)]),
    ...(mistakes === 0 ? [] : [terms.similar('titleWords', text, mistakes)]),
    ...(mistakes === 0 || length <= minStartLength ? [] : [terms.similar('titleStarts', text, 1)]),
  ]
}

/** Only kana can be misspelt; the characters around them must match. */
const similarKana = (terms: Terms, words: SoughtWord): Clause[] =>
  anySimilar(kanaParts(words), (part) => ({
    exact: [isPlain(part) ? exactPlain(terms, part[0]) : covered(terms, part)],
    similar: part.every(isKana) ? similarText(terms, textOf(part)) : [],
  }))

/** A single word of letters or digits. */
const isPlain = (word: SoughtWord): boolean => word.length === 1 && isSpelt(word[0])

type Terms = ReturnType<typeof termsOf>

/** The clauses that search a team's indexed terms. `similar` allows at most `mostMistakes` in a word. */
function termsOf(teamId: TeamId, mostMistakes = 0) {
  const salt = titleSalt(teamId)
  // Words longer than `pieceLength` are indexed in overlapping pieces of twice that length, so each piece is in one.
  const eachPiece = (text: string, clauseOf: (piece: string) => Clause, length = pieceLength): Clause =>
    all(piecesOf(text, length).map(clauseOf))
  const anywhere = (field: string, text: string, length?: number): Clause => {
    const escaped = (piece: string): string => piece.replace(/[*?\\]/g, '\\$&')
    return eachPiece(text, (piece) => ({ wildcard: { [field]: { value: `${salt}*${escaped(piece)}*` } } }), length)
  }
  return {
    /** A word begins with the text. */
    starting: (text: string): Clause =>
      eachPiece(text, (piece) => ({ prefix: { titleWords: { value: salt + piece } } })),
    /** The text stands in a word. */
    holding: (text: string): Clause => anywhere('titleWords', text),
    equal: (text: string): Clause => ({ term: { titleWords: { value: salt + text } } }),
    /** The text is two or three neighbouring words, or a pair of syllables. */
    joined: (text: string): Clause => ({ term: { titleJoined: { value: salt + text } } }),
    /** The text stands in the folded title, where every word has a space before it. */
    piece: (text: string): Clause => anywhere('titleFolded', text, wholeLength),
    /** The text stands in the folded title with its punctuation. */
    written: (text: string): Clause => anywhere('titleRaw', text, wholeLength),
    similar: (field: 'titleWords' | 'titleStarts', text: string, mistakes: number): Clause => ({
      fuzzy: {
        [field]: {
          value: salt + text,
          fuzziness: Math.min(mistakes, mostMistakes),
          prefix_length: titleSaltLength + (lengthOf(text) < minFreeLength ? 1 : 0),
          max_expansions: maxExpansions,
        },
      },
    }),
  } as const
}

const all = (clauses: readonly Clause[]): Clause =>
  clauses.length === 1 && clauses[0] ? clauses[0] : { bool: { must: [...clauses] } }

const any = (clauses: readonly Clause[]): Clause =>
  clauses.length === 1 && clauses[0] ? clauses[0] : { bool: { should: [...clauses], minimum_should_match: 1 } }
