import { type Random, seededRandom } from '../../demo/random.ts'
import { zipf } from '../zipf.ts'
import { vocabularies } from './vocabulary.ts'

export type Title = { readonly text: string; readonly locale: string }

/** Companies, products, courses and people: most words that occur at all are of this kind. */
const names = 30_000
const nameShare = 0.18
const compoundShare = 0.3
const titleCaseShare = 0.6
/** How many titles in ten have 2, 3, … words before their ending. */
const lengths = [1, 3, 3, 2, 1]
const fewestWords = 2
const onsets = [...'bdfghklmnprstvz', 'br', 'ch', 'cl', 'gr', 'pl', 'qu', 'sh', 'st', 'th', 'tr']
const vowels = [...'aeiou', 'ai', 'ea', 'io', 'ou']
const codas = ['', '', '', 'l', 'm', 'n', 'r', 's', 'x', 'nd', 'rt']

const nameRanks = zipf(names, 1)
const languages = vocabularies.map((vocabulary) => ({ ...vocabulary, ranks: zipf(vocabulary.words.length, 0.9) }))
type Language = (typeof languages)[number]
const shares = vocabularies.map(({ share }) => share)

/** A quiz's title, with words as frequent as in titles that people give. */
export function makeTitle(random: Random): Title {
  const language = languages[random.weighted(shares)] as Language
  const count = fewestWords + random.weighted(lengths)
  const words = Array.from({ length: count }, () => word(random, language))
  const isTitleCase = random.chance(titleCaseShare)
  const cased = words.map((each, at) => (at === 0 || isTitleCase ? capitalized(each) : each))
  return { text: cased.join(language.separator) + ending(random), locale: language.locale }
}

function word(random: Random, { words, ranks, hasCompounds = false }: Language): string {
  const one = (): string => words[ranks.rankAt(random.float())] ?? ''
  if (random.chance(nameShare)) return nameOf(nameRanks.rankAt(random.float()))
  return hasCompounds && random.chance(compoundShare) ? one() + one() : one()
}

/** The same name for the same rank. */
function nameOf(rank: number): string {
  const random = seededRandom(`name/${rank}`)
  const syllables = Array.from(
    { length: 2 + random.weighted([2, 2, 1]) },
    () => random.pick(onsets) + random.pick(vowels),
  )
  return capitalized(syllables.join('') + random.pick(codas))
}

function ending(random: Random): string {
  const place = random.below(100)
  if (place < 12) return ` ${2016 + random.below(11)}`
  if (place < 17) return ' (copy)'
  if (place < 21) return ` v${2 + random.below(4)}`
  if (place < 28) return ` ${1 + random.below(40)}`
  if (place < 31) return ` - ${random.text('ABCDEFGHKLMNPRST', 3)}${100 + random.below(400)}`
  return ''
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
