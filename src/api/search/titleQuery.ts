import { isDeepStrictEqual } from 'node:util'
import type { TeamId } from '../../core/model/ids.ts'
import { hangulPairs, minJoinedLength, minStartLength, pair, pieceLength } from '../../core/model/titles/indexTerms.ts'
import { foldCharacters, titleSalt, titleSaltLength } from '../../core/model/titles/normalize.ts'
import {
  allowedMistakes,
  mayStandInside,
  minWordLength,
  requiredWords,
  type SoughtWord,
  soughtWords,
} from '../../core/model/titles/queryWords.ts'
import {
  areJoinable,
  foldTitle,
  isKana,
  isSpelt,
  kanaParts,
  lengthOf,
  type TitleWord,
  textOf,
} from '../../core/model/titles/tokenize.ts'
import type { Clause } from './clauses.ts'

/** How many words of a team one misspelt word may stand for. */
const maxExpansions = 50
/** Words behind these are looked for spelt right, at the beginning of a title's words: what a search costs is bounded. */
const maxFreeWords = 8
/** A word or a year beside characters may stand elsewhere in the title, 2026期末 in "期末考试 2026"; shorter ones belong to them. */
const minLoneLength = 3
/** Of words with as many letters the first one may be wrong too. */
const minFreeLength = 6

/**
 * Titles that hold what was typed: as one piece, or all words of it in any order. A word may stand anywhere in another; when
 * other words were typed, one of one or two letters, or of digits, begins one. A piece with punctuation in it, or of nothing
 * else, is looked for with its punctuation too.
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
  return any([
    ...(sought.some(isPunctuated) || /[+#]$/.test(folded) ? [terms.written(folded)] : []),
    // A piece that begins inside a word is found by its words, unless the first of them is too short to stand there alone.
    ...(mayBeginInside && !isOneWord && !mayStandInside(first[0]) ? [terms.piece(foldTitle(typed))] : []),
    words,
  ])
}

/**
 * Whether its parts may miss a word that a title holds: joined by punctuation it may begin inside one of the title's. So may
 * `+` and `#` at the end of a piece stand between two words.
 */
const isPunctuated = (word: SoughtWord): boolean => word.slice(1).some(({ gap }) => gap === 'mark')

/**
 * Titles that hold all words that were typed, misspelt: those to ask for when no title holds them as they are, and then when
 * these find nothing either. Two slips in a word come last: looking for them takes Elasticsearch four times as long as for one.
 */
export function similarTitles(teamId: TeamId, typed: string): Clause[] {
  const words = withFreedom(requiredWords(soughtWords(typed)))
  const [once, twice] = [1, 2].map((mostMistakes) => similarTitle(termsOf(teamId, mostMistakes), words))
  if (once === undefined || twice === undefined) return []
  return isDeepStrictEqual(once, twice) ? [once] : [once, twice]
}

function similarTitle(terms: Terms, sought: readonly FreeWord[]): Clause | undefined {
  const words = sought.map((each) => ({
    exact: exactWord(terms, each),
    similar: each.isFree ? similarWord(terms, each.word) : [],
  }))
  if (words.every(({ similar }) => similar.length === 0)) return undefined
  // No title holds a single word as it is: nobody would ask.
  if (words.length === 1) return any(words.flatMap(({ similar }) => similar))
  return all(words.map(({ exact, similar }) => any([exact, ...similar])))
}

type FreeWord = { readonly word: SoughtWord; readonly isFirst: boolean; readonly isFree: boolean }

/** The first words may stand inside others and be misspelt, as long as they are few together. */
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

/** Typed as one: `e-mail` is found in "email", `covid19` in "COVID-19". Short ones are whole: `a/b` is not in "about". */
function exactJoined(terms: Terms, words: SoughtWord): Clause[] {
  if (!areJoinable(words)) return []
  const text = textOf(words)
  if (words.every(({ isMarked }) => !isMarked)) return [terms.holding(text)]
  return [lengthOf(text) < minWordLength ? terms.equal(text) : terms.starting(text)]
}

/**
 * Every character has one of its neighbours beside it in the title, as typed: 四级英语 is in 英语四级, 学数 is not in 数学. A word
 * before the first character may begin inside another one.
 */
function covered(terms: Terms, words: SoughtWord, mayBeginInside = false): Clause {
  const [only, ...others] = words
  if (others.length === 0) return only.kind === 'emoji' ? terms.equal(only.text) : terms.starting(only.text)
  const pairs = words.slice(1).map((word, at) => {
    const before = words[at] ?? only
    return mayBeginInside && at === 0 && isSpelt(before)
      ? terms.holding(pair(before, word))
      : neighbours(terms, before, word)
  })
  return all(
    words.map((word, at) => {
      const alone = isSpelt(word) && lengthOf(word.text) >= minLoneLength ? [terms.starting(word.text)] : []
      return any([...pairs.slice(Math.max(0, at - 1), at + 1), ...alone])
    }),
  )
}

/** A word behind a character may be the beginning of one. */
const neighbours = (terms: Terms, before: TitleWord, after: TitleWord): Clause =>
  isSpelt(after) ? terms.starting(pair(before, after)) : terms.equal(pair(before, after))

/** What else a typed word may have meant. Empty when it is not forgiven. */
function similarWord(terms: Terms, words: SoughtWord): Clause[] {
  if (!words.every(isSpelt)) return similarKana(terms, words)
  if (isPlain(words)) return similarPlain(terms, words[0])
  const parts = words.map((word) => ({ exact: exactPlain(terms, word), similar: similarPlain(terms, word) }))
  const each = parts.every(({ similar }) => similar.length === 0)
    ? []
    : [all(parts.map(({ exact, similar }) => any([exact, ...similar])))]
  return areJoinable(words) ? [...each, ...similarText(terms, textOf(words))] : each
}

function similarPlain(terms: Terms, word: TitleWord): Clause[] {
  const pairs = hangulPairs(word).map(terms.joined)
  return [...(pairs.length < 2 ? [] : [inPairs(pairs)]), ...similarText(terms, word.text)]
}

/** Every syllable has one of its neighbours beside it: 한국어능력시험 is "한국어 능력 시험". */
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

/** Kana are spelt and can be misspelt; what stands around them cannot. */
function similarKana(terms: Terms, words: SoughtWord): Clause[] {
  const parts = kanaParts(words).map((part) => ({
    exact: exactPart(terms, part),
    similar: part.every(isKana) ? similarText(terms, textOf(part)) : [],
  }))
  if (parts.every(({ similar }) => similar.length === 0)) return []
  return [all(parts.map(({ exact, similar }) => any([exact, ...similar])))]
}

const exactPart = (terms: Terms, part: SoughtWord): Clause =>
  isPlain(part) ? exactPlain(terms, part[0]) : covered(terms, part)

/** A single word of letters or digits. */
const isPlain = (word: SoughtWord): boolean => word.length === 1 && isSpelt(word[0])

type Terms = ReturnType<typeof termsOf>

/** The questions that a team's terms answer; a similar word has at most `mostMistakes`. */
function termsOf(teamId: TeamId, mostMistakes = 0) {
  const salt = titleSalt(teamId)
  const eachPiece = (text: string, clauseOf: (piece: string) => Clause): Clause => all(pieces(text).map(clauseOf))
  return {
    /** A word begins with the text. */
    starting: (text: string): Clause =>
      eachPiece(text, (piece) => ({ prefix: { titleWords: { value: salt + piece } } })),
    /** The text stands in a word. */
    holding: (text: string): Clause =>
      eachPiece(text, (piece) => ({ wildcard: { titleWords: { value: `${salt}*${piece}*` } } })),
    equal: (text: string): Clause => ({ term: { titleWords: { value: salt + text } } }),
    /** The text is two or three neighbouring words, or a pair of syllables. */
    joined: (text: string): Clause => ({ term: { titleJoined: { value: salt + text } } }),
    /** The text stands in the folded title, where every word has a space before it. */
    piece: (text: string): Clause => ({ wildcard: { titleFolded: { value: `${salt}*${text}*` } } }),
    /** The text stands in the folded title with its punctuation. */
    written: (text: string): Clause => ({
      wildcard: { titleRaw: { value: `${salt}*${text.replace(/[*?\\]/g, '\\$&')}*` } },
    }),
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

/** Longer words are indexed in overlapping pieces of twice that length: each piece of what was typed is in one of them. */
function pieces(text: string): string[] {
  const letters = [...text]
  const starts = Array.from({ length: Math.ceil(letters.length / pieceLength) }, (_, at) => at * pieceLength)
  return starts.map((start) => letters.slice(start, start + pieceLength).join(''))
}

const all = (clauses: readonly Clause[]): Clause =>
  clauses.length === 1 && clauses[0] ? clauses[0] : { bool: { must: [...clauses] } }

const any = (clauses: readonly Clause[]): Clause =>
  clauses.length === 1 && clauses[0] ? clauses[0] : { bool: { should: [...clauses], minimum_should_match: 1 } }
