import { isDeepStrictEqual } from 'node:util'
import { foldCharacters } from '../../core/model/foldCharacters.ts'
import type { TeamId } from '../../core/model/ids.ts'
import * as titles from '../../core/model/titles.ts'
import type { Clause } from './clauses.ts'

const maxExpansions = 50
/** Up to this number, the first typed words are free: they may match inside words of the title, and be misspelt. This bounds the cost of a search. */
const maxFreeWords = 8
/** Longer texts are searched in pieces: Elasticsearch refuses a wildcard with 315 equal characters. */
const maxWildcardLength = 300
/** A word or number of at least this length, typed beside CJK characters, may stand elsewhere in the title: 2026期末 finds "期末考试 2026". */
const minLoneLength = 3
/** In a shorter word, the first letter must not be misspelt. */
const minLengthForFirstTypo = 6

/**
 * Titles that contain the typed text, or all of its words except stop words, in any order; free words (`maxFreeWords`) also inside words. Among
 * several typed words, a word of digits, and a word of one or two letters, match only the beginnings of words. Punctuation matters where it joins
 * words or stands alone.
 */
export function exactTitle(teamId: TeamId, typed: string): Clause {
  const terms = termsOf(teamId)
  // Grouped digits have two readings: 10,000 is two words, or 10000.
  const [reading = [], ...otherReadings] = titles.soughtReadings(typed)
  const folded = foldCharacters(typed)
  const [firstPart] = reading
  if (firstPart === undefined) return terms.inRawTitle(folded)
  const mayBeginInside = isWord(firstPart) && !firstPart[0].isMarked
  // A text with punctuation between its words may begin inside a word: a search by words does not find `tection-law` in "Protection-Law".
  const isPunctuated = reading.some((part) => part.slice(1).some(({ gap }) => gap === 'mark'))
  return any([
    // A trailing + or # is part of a word (C++), but not in a title where a letter follows: `a+` finds "A+B".
    ...(isPunctuated || /[+#]$/.test(folded) ? [terms.inRawTitle(folded)] : []),
    // Without punctuation, a search by words finds a text that begins inside a word, unless the first word is too short: `ty law` in "Safety Law".
    ...(mayBeginInside && reading.length > 1 && !titles.mayStandInside(firstPart[0])
      ? [terms.inFoldedTitle(titles.foldTitle(typed))]
      : []),
    ...[reading, ...otherReadings].map((parts) => exactReading(terms, parts)),
  ])
}

function exactReading(terms: Terms, reading: readonly titles.SoughtPart[]): Clause {
  const [first, ...others] = reading
  const isOneWord = first !== undefined && others.length === 0 && isWord(first) && !first[0].isMarked
  if (isOneWord) return terms.containing(first[0].text)
  return all(typedParts(titles.requiredParts(reading)).map((part) => exactPart(terms, part)))
}

/** If `exactTitle` finds nothing: one typo a word, then two typos, which takes four times as long. */
export function similarTitles(teamId: TeamId, typed: string): Clause[] {
  const readings = titles.soughtReadings(typed).map((reading) => typedParts(titles.requiredParts(reading)))
  const [oneTypo = [], twoTypos = []] = [1, 2].map((maxTypos) => {
    const terms = termsOf(teamId, maxTypos)
    const clauses = readings.flatMap((parts) =>
      allExactOrSimilar(parts, (part) => ({
        // `exactTitle` has found nothing: a single part need not be searched exactly again.
        exact: parts.length === 1 ? [] : [exactPart(terms, part)],
        similar: part.isFree ? similarPart(terms, part.words) : [],
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

type TypedPart = { readonly words: titles.SoughtPart; readonly isFirst: boolean; readonly isFree: boolean }

function typedParts(parts: readonly titles.SoughtPart[]): TypedPart[] {
  let count = 0
  return parts.map((words, at) => {
    count += words.every(titles.isSpelt) ? words.length : titles.kanaParts(words).length
    return { words, isFirst: at === 0, isFree: count <= maxFreeWords }
  })
}

function exactPart(terms: Terms, { words, isFirst, isFree }: TypedPart): Clause {
  if (!words.every(titles.isSpelt)) return besideNeighbours(terms, words, isFirst && !words[0].isMarked)
  if (!isFree) return all(words.map(({ text }) => terms.starting(text)))
  if (isWord(words)) return exactWord(terms, words[0])
  return any([...exactJoined(terms, words), terms.inFoldedTitle(` ${words.map(({ text }) => text).join(' ')}`)])
}

const exactWord = (terms: Terms, word: titles.TitleWord): Clause =>
  titles.mayStandInside(word) ? terms.containing(word.text) : terms.starting(word.text)

/**
 * Matches words as one word: `e-mail` finds "email", `covid19` finds "COVID-19". If punctuation joins them to a text shorter than `minWordLength`, the
 * text must be a whole word: `a/b` does not find "about".
 */
function exactJoined(terms: Terms, words: titles.SoughtPart): Clause[] {
  if (!titles.areJoinable(words)) return []
  const text = titles.textOf(words)
  if (words.every(({ isMarked }) => !isMarked)) return [terms.containing(text)]
  return [titles.lengthOf(text) < titles.minWordLength ? terms.equal(text) : terms.starting(text)]
}

/**
 * Each typed CJK character must be adjacent to at least one of the neighbours it was typed with: 四级英语 finds 英语四级, 学数 does not find 数学. With
 * `mayBeginInside`, a word before the first character may begin inside a word of the title.
 */
function besideNeighbours(terms: Terms, words: titles.SoughtPart, mayBeginInside = false): Clause {
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

/** Empty if the part must be exact. */
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
const similarKana = (terms: Terms, words: titles.SoughtPart): Clause[] =>
  allExactOrSimilar(titles.kanaParts(words), (part) => ({
    exact: [isWord(part) ? exactWord(terms, part[0]) : besideNeighbours(terms, part)],
    similar: part.every(titles.isKana) ? similarText(terms, titles.textOf(part)) : [],
  }))

/** Whether a part is a single word that may be joined or misspelt. */
const isWord = (part: titles.SoughtPart): boolean => part.length === 1 && titles.isSpelt(part[0])

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
