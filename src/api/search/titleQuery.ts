import { isDeepStrictEqual } from 'node:util'
import { foldCharacters } from '../../core/model/foldCharacters.ts'
import type { TeamId } from '../../core/model/ids.ts'
import * as titles from '../../core/model/titles.ts'
import type { Clause } from './clauses.ts'

/*
 * Words of this file (`titles.ts` has their types):
 *
 * - word: a run of letters, digits or Hangul; a single CJK character; an emoji
 * - spelt: neither CJK character nor emoji. Only spelt words and runs of kana can be misspelt
 * - marked: right after punctuation, as in `.net`
 * - part: typed words without a space between them, such as `e-mail` or 英语四级
 * - reading: the parts of a typed text. 10,000 has two readings: two words, or 10000
 * - folded: in lower case, without accents
 */

/** Index terms that a fuzzy query tries in each shard. */
const maxExpansions = 50
/** The first words are free: they may match inside words of the title, and be misspelt. This bounds the cost of a search. */
const maxFreeWords = 8
/** Elasticsearch refuses a wildcard with 315 equal characters. */
const maxWildcardLength = 300
/** A word at least this long, typed beside CJK characters, may stand elsewhere in the title: 2026期末 finds "期末考试 2026". */
const minLoneLength = 3
/** In a shorter word, the first letter must not be misspelt. */
const minLengthForFirstTypo = 6

/**
 * Matches titles with the typed text, or with all of its words except stop words, in any order. Among several words, a word of digits, or of one or
 * two letters, matches only beginnings. Punctuation matters where it joins words or stands alone.
 */
export function exactTitle(teamId: TeamId, typed: string): Clause {
  const terms = termsOf(teamId)
  const [reading = [], ...otherReadings] = titles.soughtReadings(typed)
  const folded = foldCharacters(typed)
  const [firstPart] = reading
  // Punctuation alone has no words.
  if (firstPart === undefined) return terms.inRawTitle(folded)
  // A search by words does not find `tection-law` in "Protection-Law".
  const isPunctuated = reading.some((part) => part.slice(1).some(({ gap }) => gap === 'mark'))
  // Nor `a+` in "A+B": a trailing + or # is part of a word (C++), but not before a letter.
  const endsWithSymbol = /[+#]$/.test(folded)
  // Nor `ty law` in "Safety Law": the first word is too short to be searched inside words.
  const beginsWithShortEnd =
    reading.length > 1 && isWord(firstPart) && !firstPart[0].isMarked && !titles.mayStandInside(firstPart[0])
  return any([
    ...(isPunctuated || endsWithSymbol ? [terms.inRawTitle(folded)] : []),
    ...(beginsWithShortEnd ? [terms.inFoldedTitle(titles.foldTitle(typed))] : []),
    ...[reading, ...otherReadings].map((parts) => exactReading(terms, parts)),
  ])
}

function exactReading(terms: Terms, reading: readonly titles.SoughtPart[]): Clause {
  const [first, ...others] = reading
  const isOneWord = first !== undefined && others.length === 0 && isWord(first) && !first[0].isMarked
  if (isOneWord) return terms.containing(first[0].text)
  return all(typedParts(titles.requiredParts(reading)).map((part) => exactPart(terms, part)))
}

/**
 * For when `exactTitle` finds nothing: with one typo in each word, then with two, which takes four times as long. Empty if no word may be misspelt.
 */
export function similarTitles(teamId: TeamId, typed: string): Clause[] {
  const readings = titles.soughtReadings(typed).map((reading) => typedParts(titles.requiredParts(reading)))
  const [oneTypo = [], twoTypos = []] = [1, 2].map((maxTypos) => {
    const terms = termsOf(teamId, maxTypos)
    const clauses = readings.flatMap((parts) =>
      allExactOrSimilar(parts, (part) => ({
        // A single part was already searched exactly.
        exact: parts.length === 1 ? [] : [exactPart(terms, part)],
        similar: part.isFree ? similarPart(terms, part.words) : [],
      })),
    )
    return clauses.length === 0 ? [] : [any(clauses)]
  })
  return isDeepStrictEqual(oneTypo, twoTypos) ? oneTypo : [...oneTypo, ...twoTypos]
}

/** Empty if no part has a similar clause. */
function allExactOrSimilar<Part>(
  parts: readonly Part[],
  clausesOf: (part: Part) => Record<'exact' | 'similar', Clause[]>,
) {
  const clauses = parts.map(clausesOf)
  if (clauses.every(({ similar }) => similar.length === 0)) return []
  return [all(clauses.map(({ exact, similar }) => any([...exact, ...similar])))]
}

type TypedPart = { readonly words: titles.SoughtPart; readonly isFirst: boolean; readonly isFree: boolean }

/** A run of kana, or of other CJK characters, counts as one word. */
function typedParts(parts: readonly titles.SoughtPart[]): TypedPart[] {
  let wordCount = 0
  return parts.map((words, index) => {
    wordCount += words.every(titles.isSpelt) ? words.length : titles.kanaParts(words).length
    return { words, isFirst: index === 0, isFree: wordCount <= maxFreeWords }
  })
}

function exactPart(terms: Terms, { words, isFirst, isFree }: TypedPart): Clause {
  if (!words.every(titles.isSpelt)) return besideNeighbours(terms, words, isFirst && !words[0].isMarked)
  if (!isFree) return all(words.map(({ text }) => terms.starting(text)))
  if (isWord(words)) return exactWord(terms, words[0])
  // Words joined by punctuation: as one word, or one after the other.
  return any([...exactJoined(terms, words), terms.inFoldedTitle(` ${words.map(({ text }) => text).join(' ')}`)])
}

const exactWord = (terms: Terms, word: titles.TitleWord): Clause =>
  titles.mayStandInside(word) ? terms.containing(word.text) : terms.starting(word.text)

/**
 * Matches the words of a part as one word: `e-mail` finds "email". With punctuation between them, a text shorter than `minWordLength` must be a whole
 * word: `a/b` finds "ab", not "about".
 */
function exactJoined(terms: Terms, words: titles.SoughtPart): Clause[] {
  if (!titles.areJoinable(words)) return []
  const text = titles.textOf(words)
  if (words.every(({ isMarked }) => !isMarked)) return [terms.containing(text)]
  return [titles.lengthOf(text) < titles.minWordLength ? terms.equal(text) : terms.starting(text)]
}

/** Each CJK character must be adjacent to a neighbour it was typed with: 四级英语 finds 英语四级, 学数 does not find 数学. */
function besideNeighbours(terms: Terms, words: titles.SoughtPart, mayBeginInside = false): Clause {
  const [first, ...others] = words
  if (others.length === 0) return first.kind === 'emoji' ? terms.equal(first.text) : terms.starting(first.text)
  const pairs = others.map((word, index) => {
    const before = words[index] ?? first
    const pair = titles.pair(before, word)
    if (mayBeginInside && index === 0 && titles.isSpelt(before)) return terms.containing(pair)
    // After a CJK character, a word matches beginnings of words.
    return titles.isSpelt(word) ? terms.starting(pair) : terms.equal(pair)
  })
  const clauses = words.map((word, index) => {
    const mayStandElsewhere = titles.isSpelt(word) && titles.lengthOf(word.text) >= minLoneLength
    return any([...pairsWith(index, pairs), ...(mayStandElsewhere ? [terms.starting(word.text)] : [])])
  })
  return all(clauses)
}

/** Pair n is of the items n and n + 1. */
const pairsWith = <Pair>(index: number, pairs: readonly Pair[]): readonly Pair[] =>
  pairs.slice(Math.max(0, index - 1), index + 1)

function similarPart(terms: Terms, words: titles.SoughtPart): Clause[] {
  if (!words.every(titles.isSpelt)) return similarKana(terms, words)
  if (isWord(words)) return similarWord(terms, words[0])
  const wordByWord = allExactOrSimilar(words, (word) => ({
    exact: [exactWord(terms, word)],
    similar: similarWord(terms, word),
  }))
  return titles.areJoinable(words) ? [...wordByWord, ...similarText(terms, titles.textOf(words))] : wordByWord
}

function similarWord(terms: Terms, word: titles.TitleWord): Clause[] {
  const pairs = titles.hangulPairs(word)
  return [...(pairs.length < 2 ? [] : [inPairs(terms, pairs)]), ...similarText(terms, word.text)]
}

/** Each Hangul syllable must be adjacent to a neighbour: 한국어능력시험 finds "한국어 능력 시험". */
const inPairs = (terms: Terms, pairs: readonly string[]): Clause =>
  all(Array.from({ length: pairs.length + 1 }, (_, syllable) => terms.joined(...pairsWith(syllable, pairs))))

function similarText(terms: Terms, text: string): Clause[] {
  const length = titles.lengthOf(text)
  const mistakes = titles.allowedMistakes(text)
  return [
    // Only pieces of these lengths are indexed as joined text.
    ...(length < titles.minJoinedLength || length > titles.pieceLength ? [] : [terms.joined(text)]),
    ...(mistakes === 0 ? [] : [terms.similar('titleWords', text, mistakes)]),
    ...(mistakes === 0 || length <= titles.minStartLength ? [] : [terms.similar('titleStarts', text, 1)]),
  ]
}

const similarKana = (terms: Terms, words: titles.SoughtPart): Clause[] =>
  allExactOrSimilar(titles.kanaParts(words), (part) => ({
    exact: [isWord(part) ? exactWord(terms, part[0]) : besideNeighbours(terms, part)],
    similar: part.every(titles.isKana) ? similarText(terms, titles.textOf(part)) : [],
  }))

const isWord = (part: titles.SoughtPart): boolean => part.length === 1 && titles.isSpelt(part[0])

/** Clauses on the index terms of a team's titles; no term has a space. */
interface Terms {
  starting(text: string): Clause
  containing(text: string): Clause
  /** A word, or a pair of characters, is the text. */
  equal(text: string): Clause
  /** Two or three adjacent words joined, or a pair of syllables. */
  joined(...texts: readonly string[]): Clause
  /** The folded title, with a space before every word. */
  inFoldedTitle(text: string): Clause
  /** The folded title with its punctuation. */
  inRawTitle(text: string): Clause
  /** A word (`titleWords`), or its beginning (`titleStarts`), has at most so many typos. */
  similar(field: 'titleWords' | 'titleStarts', text: string, mistakes: number): Clause
}

function termsOf(teamId: TeamId, maxTypos = 0): Terms {
  // Each term begins with the team's salt, so that a query skips most terms of other teams.
  const salt = titles.titleSalt(teamId)
  // Long words are indexed in overlapping pieces of twice `pieceLength`: any text of `pieceLength` is within one.
  const eachPiece = (text: string, clauseOf: (piece: string) => Clause, length = titles.pieceLength): Clause =>
    all(titles.piecesOf(text, length).map(clauseOf))
  /** `length`: of the pieces of a long text. */
  const anywhere = (field: string, text: string, length?: number): Clause => {
    const escaped = (piece: string): string => piece.replace(/[*?\\]/g, '\\$&')
    return eachPiece(text, (piece) => ({ wildcard: { [field]: { value: `${salt}*${escaped(piece)}*` } } }), length)
  }
  return {
    starting: (text) => eachPiece(text, (piece) => ({ prefix: { titleWords: { value: salt + piece } } })),
    containing: (text) => anywhere('titleWords', text),
    equal: (text) => ({ match: { titleWords: { query: salt + text } } }),
    joined: (...texts) => ({
      match: { titleJoined: { query: texts.map((text) => salt + text).join(' '), operator: 'or' } },
    }),
    inFoldedTitle: (text) => anywhere('titleFolded', text, maxWildcardLength),
    inRawTitle: (text) => anywhere('titleRaw', text, maxWildcardLength),
    similar: (field, text, mistakes) => ({
      match: {
        [field]: {
          query: salt + text,
          fuzziness: Math.min(mistakes, maxTypos),
          prefix_length: titles.titleSaltLength + (titles.lengthOf(text) < minLengthForFirstTypo ? 1 : 0),
          max_expansions: maxExpansions,
        },
      },
    }),
  }
}

const all = (clauses: readonly Clause[]): Clause =>
  clauses.length === 1 && clauses[0] ? clauses[0] : { bool: { must: [...clauses] } }

const any = (clauses: readonly Clause[]): Clause =>
  clauses.length === 1 && clauses[0] ? clauses[0] : { bool: { should: [...clauses], minimum_should_match: 1 } }
