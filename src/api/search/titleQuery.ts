import { isDeepStrictEqual } from 'node:util'
import { foldCharacters } from '../../core/model/foldCharacters.ts'
import type { TeamId } from '../../core/model/ids.ts'
import * as titles from '../../core/model/titles.ts'
import type { Clause } from './clauses.ts'

const maxExpansions = 50
/** So many typed words are free: they may match inside words of the title, and be misspelt. This bounds the cost of a search. */
const maxFreeWords = 8
/** Longer texts are searched in pieces: Elasticsearch refuses a wildcard with 315 equal characters. */
const maxWildcardLength = 300
/** A word or number of at least this length, typed beside CJK characters, may stand elsewhere in the title: 2026期末 finds "期末考试 2026". */
const minLoneLength = 3
/** In a shorter word, the first letter must not be misspelt. */
const minLengthForFirstTypo = 6

/**
 * Titles that contain the typed text, or all of its words in any order, also inside words. Among several typed words, a word of digits, and a word of
 * one or two letters, match only the beginnings of words. Punctuation matters where it joins words or stands alone.
 */
export function exactTitle(teamId: TeamId, typed: string): Clause {
  const terms = termsOf(teamId)
  const [reading = [], ...otherReadings] = titles.soughtReadings(typed)
  const folded = foldCharacters(typed)
  const [firstWord] = reading
  if (firstWord === undefined) return terms.inRawTitle(folded)
  const mayBeginInside = isPlain(firstWord) && !firstWord[0].isMarked
  // A text with punctuation between its words may begin inside a word of the title, where a search by words does not find it.
  const isPunctuated = reading.some((word) => word.slice(1).some(({ gap }) => gap === 'mark'))
  return any([
    ...(isPunctuated || /[+#]$/.test(folded) ? [terms.inRawTitle(folded)] : []),
    // Without punctuation, a search by words finds a text that begins inside a word, unless its first word is too short for that.
    ...(mayBeginInside && reading.length > 1 && !titles.mayStandInside(firstWord[0])
      ? [terms.inFoldedTitle(titles.foldTitle(typed))]
      : []),
    ...[reading, ...otherReadings].map((words) => exactWords(terms, words)),
  ])
}

function exactWords(terms: Terms, reading: readonly titles.SoughtWord[]): Clause {
  const [first, ...others] = reading
  const isOneWord = first !== undefined && others.length === 0 && isPlain(first) && !first[0].isMarked
  if (isOneWord) return terms.containing(first[0].text)
  return all(typedWords(titles.requiredWords(reading)).map((word) => exactWord(terms, word)))
}

/** If `exactTitle` finds nothing: one typo a word, then two typos, which takes four times as long. */
export function similarTitles(teamId: TeamId, typed: string): Clause[] {
  const readings = titles.soughtReadings(typed).map((reading) => typedWords(titles.requiredWords(reading)))
  const [oneTypo = [], twoTypos = []] = [1, 2].map((maxTypos) => {
    const terms = termsOf(teamId, maxTypos)
    const clauses = readings.flatMap((words) =>
      allExactOrSimilar(words, (word) => ({
        // `exactTitle` has found nothing: a single word need not be searched exactly again.
        exact: words.length === 1 ? [] : [exactWord(terms, word)],
        similar: word.isFree ? similarWord(terms, word.word) : [],
      })),
    )
    return clauses.length === 0 ? [] : [any(clauses)]
  })
  return isDeepStrictEqual(oneTypo, twoTypos) ? oneTypo : [...oneTypo, ...twoTypos]
}

/** Every part matches, exactly or similarly; empty if no part has similar clauses. */
function allExactOrSimilar<Part>(
  parts: readonly Part[],
  clausesOf: (part: Part) => Record<'exact' | 'similar', Clause[]>,
) {
  const clauses = parts.map(clausesOf)
  if (clauses.every(({ similar }) => similar.length === 0)) return []
  return [all(clauses.map(({ exact, similar }) => any([...exact, ...similar])))]
}

type TypedWord = { readonly word: titles.SoughtWord; readonly isFirst: boolean; readonly isFree: boolean }

function typedWords(words: readonly titles.SoughtWord[]): TypedWord[] {
  let count = 0
  return words.map((word, at) => {
    count += word.every(titles.isSpelt) ? word.length : titles.kanaParts(word).length
    return { word, isFirst: at === 0, isFree: count <= maxFreeWords }
  })
}

function exactWord(terms: Terms, { word, isFirst, isFree }: TypedWord): Clause {
  if (!word.every(titles.isSpelt)) return besideNeighbours(terms, word, isFirst && !word[0].isMarked)
  if (!isFree) return all(word.map(({ text }) => terms.starting(text)))
  if (isPlain(word)) return exactPlain(terms, word[0])
  return any([...exactJoined(terms, word), terms.inFoldedTitle(` ${word.map(({ text }) => text).join(' ')}`)])
}

const exactPlain = (terms: Terms, word: titles.TitleWord): Clause =>
  titles.mayStandInside(word) ? terms.containing(word.text) : terms.starting(word.text)

/**
 * Matches words as one word: `e-mail` finds "email", `covid19` finds "COVID-19". Words that punctuation joins to a short word match only whole words:
 * `a/b` does not find "about".
 */
function exactJoined(terms: Terms, words: titles.SoughtWord): Clause[] {
  if (!titles.areJoinable(words)) return []
  const text = titles.textOf(words)
  if (words.every(({ isMarked }) => !isMarked)) return [terms.containing(text)]
  return [titles.lengthOf(text) < titles.minWordLength ? terms.equal(text) : terms.starting(text)]
}

/**
 * Each typed CJK character must be adjacent to at least one of the neighbours it was typed with: 四级英语 finds 英语四级, 学数 does not find 数学. With
 * `mayBeginInside`, a word before the first character may begin inside a word of the title.
 */
function besideNeighbours(terms: Terms, words: titles.SoughtWord, mayBeginInside = false): Clause {
  const [only, ...others] = words
  if (others.length === 0) return only.kind === 'emoji' ? terms.equal(only.text) : terms.starting(only.text)
  const pairs = words.slice(1).map((word, at) => {
    const before = words[at] ?? only
    const both = titles.pair(before, word)
    if (mayBeginInside && at === 0 && titles.isSpelt(before)) return terms.containing(both)
    // After a CJK character, a word matches beginnings of words.
    return titles.isSpelt(word) ? terms.starting(both) : terms.equal(both)
  })
  const clauses = words.map((word, at) => {
    const isLone = titles.isSpelt(word) && titles.lengthOf(word.text) >= minLoneLength
    return any([...pairs.slice(Math.max(0, at - 1), at + 1), ...(isLone ? [terms.starting(word.text)] : [])])
  })
  return all(clauses)
}

/** Empty if the word must be exact. */
function similarWord(terms: Terms, words: titles.SoughtWord): Clause[] {
  if (!words.every(titles.isSpelt)) return similarKana(terms, words)
  if (isPlain(words)) return similarPlain(terms, words[0])
  const wordByWord = allExactOrSimilar(words, (word) => ({
    exact: [exactPlain(terms, word)],
    similar: similarPlain(terms, word),
  }))
  return titles.areJoinable(words) ? [...wordByWord, ...similarText(terms, titles.textOf(words))] : wordByWord
}

function similarPlain(terms: Terms, word: titles.TitleWord): Clause[] {
  const pairs = titles.hangulPairs(word)
  return [...(pairs.length < 2 ? [] : [inPairs(terms, pairs)]), ...similarText(terms, word.text)]
}

/** Each syllable must be adjacent to one of its neighbours: 한국어능력시험 finds "한국어 능력 시험". */
const inPairs = (terms: Terms, pairs: readonly string[]): Clause =>
  all(Array.from({ length: pairs.length + 1 }, (_, at) => terms.joined(...pairs.slice(Math.max(0, at - 1), at + 1))))

function similarText(terms: Terms, text: string): Clause[] {
  const length = titles.lengthOf(text)
  const mistakes = titles.allowedMistakes(text)
  return [
    ...(length < titles.minJoinedLength || length > titles.pieceLength ? [] : [terms.joined(text)]),
    ...(mistakes === 0 ? [] : [terms.similar('titleWords', text, mistakes)]),
    ...(mistakes === 0 || length <= titles.minStartLength ? [] : [terms.similar('titleStarts', text, 1)]),
  ]
}

/** Only kana may be misspelt; other characters must match. */
const similarKana = (terms: Terms, words: titles.SoughtWord): Clause[] =>
  allExactOrSimilar(titles.kanaParts(words), (part) => ({
    exact: [isPlain(part) ? exactPlain(terms, part[0]) : besideNeighbours(terms, part)],
    similar: part.every(titles.isKana) ? similarText(terms, titles.textOf(part)) : [],
  }))

const isPlain = (word: titles.SoughtWord): boolean => word.length === 1 && titles.isSpelt(word[0])

/** Clauses on the index terms of a team's titles; a term has no space. */
interface Terms {
  /** A word begins with the text. */
  starting(text: string): Clause
  /** A word contains the text. */
  containing(text: string): Clause
  equal(text: string): Clause
  /** One of the texts is two or three adjacent words joined, or a pair of syllables. */
  joined(...texts: readonly string[]): Clause
  /** The folded title, with a space before every word, contains the text. */
  inFoldedTitle(text: string): Clause
  /** The folded title with its punctuation contains the text. */
  inRawTitle(text: string): Clause
  /** A word (`titleWords`), or the beginning of one (`titleStarts`), is the text with typos. */
  similar(field: 'titleWords' | 'titleStarts', text: string, mistakes: number): Clause
}

function termsOf(teamId: TeamId, maxTypos = 0): Terms {
  const salt = titles.titleSalt(teamId)
  // Long words are indexed in overlapping pieces of twice `pieceLength`, so that any text of `pieceLength` is within one of these.
  const eachPiece = (text: string, clauseOf: (piece: string) => Clause, length = titles.pieceLength): Clause =>
    all(titles.piecesOf(text, length).map(clauseOf))
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
