import {
  areJoinable,
  isAlphabetic,
  isJoinable,
  isKana,
  isSpelt,
  kanaParts,
  lengthOf,
  splitWhere,
  type TitleWord,
  textOf,
  titleWords,
} from './tokenize.ts'

/** What a title can be found by, besides pieces of it. Each list holds a term once. */
type TitleTerms = {
  /** Its words; those that punctuation joins also as one, from each of them on; of Han and kana every pair of neighbours. */
  readonly words: readonly string[]
  /** Two and three neighbouring words as if no space were between them; of Hangul every pair of neighbours. */
  readonly joined: readonly string[]
  /** The beginnings of long words, for those who misspell half of one. */
  readonly starts: readonly string[]
}

/** Longer words are compared in pieces: Elasticsearch's whitespace tokenizer cuts terms of more than 255 UTF-16 units. */
export const pieceLength = 50
/** What is written as one has at least as many letters: "goat" is not "go at". */
export const minJoinedLength = 5
const maxJoinedLength = 40
const maxJoinedWords = 3
/** A half-typed word with a mistake has at least one letter more. */
export const minStartLength = 5
const maxStartLength = 12
/** The terms of a title. A few times as long as the title itself at most. */
export function titleTerms(title: string): TitleTerms {
  const words = titleWords(title)
  const spelt = splitWhere(words, (before, after) => after.gap === 'space' || !isJoinable(before, after))
  return {
    words: unique([
      ...words.filter(({ kind }) => kind !== 'cjk').flatMap(({ text }) => overlappingPieces(text)),
      ...spelt.filter(({ length }) => length > 1).flatMap((run) => overlappingPieces(textOf(run))),
      ...spelt.flatMap((run) => run.slice(1, -1).map((_, at) => cut(textOf(run.slice(at + 1)), maxJoinedLength))),
      ...neighbours(words),
      ...kanaParts(words)
        .filter(([first]) => isKana(first))
        .flatMap((run) => overlappingPieces(textOf(run))),
    ]),
    joined: unique([...joinedWords(spelt), ...words.flatMap(hangulPairs)]),
    starts: unique(words.flatMap(startsOf)),
  }
}

/** Every character that is read alone with the one behind it; also with a word before or behind it, whatever is between. */
const neighbours = (words: readonly TitleWord[]): string[] =>
  words.flatMap((word, at) => {
    const next = words[at + 1]
    if (next?.kind === 'cjk' && isSpelt(word)) return [pair(word, next)]
    if (word.kind !== 'cjk') return []
    if (next?.kind === 'cjk' && next.gap === 'none') return [pair(word, next)]
    return [word.text, ...(next !== undefined && isSpelt(next) ? [pair(word, next)] : [])]
  })

/** The term of two neighbours of which at least one is read character by character. */
export const pair = (before: TitleWord, after: TitleWord): string =>
  cut(before.text, pieceLength) + cut(after.text, pieceLength)

function joinedWords(runs: readonly (readonly TitleWord[])[]): string[] {
  const joinable = splitWhere(runs, (before, after) => !areJoinable([...before, ...after]))
  return joinable.flatMap((row) =>
    row.flatMap((_, from) =>
      Array.from({ length: maxJoinedWords - 1 }, (_, more) => row.slice(from, from + more + 2))
        .filter((part) => part.length > 1)
        .map((part) => textOf(part.flat()))
        .filter((text) => lengthOf(text) >= minJoinedLength && lengthOf(text) <= maxJoinedLength),
    ),
  )
}

export const hangulPairs = ({ kind, text }: TitleWord): string[] => {
  const syllables = kind === 'hangul' ? [...text] : []
  return syllables.slice(0, -1).map((syllable, at) => syllable + syllables[at + 1])
}

function startsOf({ text }: TitleWord): string[] {
  if (!isAlphabetic(text)) return []
  const lengths = Array.from({ length: maxStartLength - minStartLength + 1 }, (_, more) => minStartLength + more)
  return lengths.filter((length) => length < lengthOf(text)).map((length) => cut(text, length))
}

/** Pieces that overlap by half, so that whatever is not longer than half a piece stands whole in one of them. */
function overlappingPieces(text: string): string[] {
  const letters = [...text]
  const starts = Array.from(
    { length: Math.max(1, Math.ceil(letters.length / pieceLength) - 1) },
    (_, at) => at * pieceLength,
  )
  return starts.map((start) => letters.slice(start, start + 2 * pieceLength).join(''))
}

const cut = (text: string, length: number): string => [...text].slice(0, length).join('')

const unique = (terms: readonly string[]): string[] => [...new Set(terms)]
