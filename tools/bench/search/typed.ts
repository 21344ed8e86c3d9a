import { type Random, seededRandom } from '../../sample/random.ts'
import type { SampleForm } from './forms.ts'

/** Each kind makes a text from a title; undefined if the title does not allow that. */
const makers = {
  'one word': (random, title) => maybe(random, wordsOf(title)),
  'two words': (random, title) => maybe(random, pairsOf(title))?.join(' '),
  'part of a word': (random, title) => {
    const word = maybe(random, wordsOf(title).filter(isLong))
    return word?.slice(0, shortestPart + random.below(word.length - shortestPart))
  },
  'one misspelt word': (random, title) => {
    const word = maybe(random, wordsOf(title).filter(isLong))
    return word && misspelt(random, word)
  },
  'two words, one misspelt': (random, title) => {
    const pair = maybe(
      random,
      pairsOf(title).filter((words) => words.some(isLong)),
    )
    if (pair === undefined) return undefined
    const wrong = random.pick(pair.filter(isLong))
    return pair.map((word) => (word === wrong ? misspelt(random, word) : word)).join(' ')
  },
} as const satisfies Record<string, (random: Random, title: string) => string | undefined>

export type TypedKind = keyof typeof makers
export const typedKinds = Object.keys(makers) as TypedKind[]
export const isMisspelt = (kind: TypedKind): boolean => kind.includes('misspelt')

const shortestPart = 3
const triesEach = 30
const typos = [...'aeiorstnlmu']

/** Up to `count` different texts, each from one of `forms` at random; the same for the same forms. */
export function typedTexts(kind: TypedKind, forms: readonly SampleForm[], count: number): string[] {
  const random = seededRandom(`typed/${kind}`)
  const texts = new Set<string>()
  for (let tries = 0; tries < triesEach * count && texts.size < count; tries++) {
    const typed = makers[kind](random, random.pick(forms).title.text)
    if (typed !== undefined) texts.add(typed)
  }
  return [...texts]
}

/** Whether a title contains the typed text, or words that start with each typed word. Ignores case and diacritics. */
export function holds(title: string, typed: string): boolean {
  const [foldedTitle, foldedTyped] = [plain(title), plain(typed)]
  if (foldedTitle.includes(foldedTyped)) return true
  const words = foldedTitle.split(notInWords)
  return foldedTyped.split(notInWords).every((part) => words.some((word) => word.startsWith(part)))
}

const plain = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
const notInWords = /[^\p{L}\p{N}]+/u

const maybe = <T>(random: Random, items: readonly T[]): T | undefined =>
  items.length === 0 ? undefined : random.pick(items)

/** In a language without spaces, two characters count as a word. */
const wordsOf = (title: string): string[] =>
  (title.match(/\p{L}+/gu) ?? []).flatMap((word) =>
    /\p{sc=Han}/u.test(word) ? (word.match(/\p{sc=Han}{2}/gu) ?? []) : word,
  )

/** Words with only a space between them. */
function pairsOf(title: string): (readonly [string, string])[] {
  const words = title.split(' ')
  return words.flatMap((word, at) => {
    const next = words[at + 1] ?? ''
    return isWord(word) && isWord(next) ? [[word, next] as const] : []
  })
}

const isWord = (text: string): boolean => /^\p{sc=Latin}{2,}$/u.test(text)
const isLong = (word: string): boolean => /^\p{sc=Latin}{5,}$/u.test(word)

/** One letter inserted, removed or replaced, or two swapped; never the first or the last letter. */
function misspelt(random: Random, word: string): string {
  const letters = [...word]
  const other = random.pick(typos)
  const at = 1 + random.below(letters.length - 2)
  const [removed, added] = random.pick([
    [0, [other]],
    [1, []],
    [1, [other]],
    [2, letters.slice(at, at + 2).reverse()],
  ] as const)
  return letters.toSpliced(at, removed, ...added).join('')
}
