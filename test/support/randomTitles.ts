import type { Random } from './random.ts'

const words = [
  ...['Quiz', 'Exam', 'Geography', 'Mathematics', 'Unforgettable', 'basics', 'Basis', 'of', 'and', 'A'],
  ...['2024', '2025', 'B2B', '10,000', '10000', '1\u202f000', "1'000+", '1,00,000', '000', '1,5'],
  ...['Größenwahn', 'Straßenbau', 'Prüfung', 'Café', 'Crème', 'Smørrebrød', 'Łódź', 'Ångström', 'naïve'],
  ...['ﬁnal', 'Ｅｕｒｏｐｅ'],
  ...['Ёлка', 'Математика', 'Γεωγραφία', 'ΑΓΏΝΑΣ', 'استبيان', 'اِستِبيان', 'שאלון', 'हिन्दी', 'परीक्षा', 'แบบทดสอบ'],
  ...['期末考试', '产品知识', 'カタカナ', 'ひらがな', 'ｶﾞﾗｽ', '퀴즈', '𠮷野家', '𝔐𝔞𝔱𝔥', '𐐔𐐯𐐻'],
  ...['🎉', '❤️', '👩🏽‍🔬', '🇯🇵', '100%', '(50%)', 'C++', 'C#', '18+', '3.5', '1½'],
  ...['What’s', 'R.S.V.P.', 'snake_case', '*sure*?', 'C:\\quiz', '"x"', '—', 'e\u0301te\u0301', 'z\u0323\u0307'],
]
const separators = [
  ...[' ', ' ', ' ', ' - ', ': ', '  ', '\n', '/', ''],
  ...['-', '–', '_', '.', "'", '’', '+', '#', '&', '…', ' (', ') ', '、', '・', '־', '،', '\u200c', '\u00ad'],
]

/** A title of some words in any script, a few of them misspelt. */
export function randomTitle(random: Random): string {
  if (random.chance(0.03)) return random.pick(['', ' ', '🎉🎉', '…'])
  const chosen = Array.from({ length: 1 + random.below(4) }, () => {
    const word = random.pick(words)
    return random.chance(0.1) ? misspelt(random, word) : word
  })
  return chosen.reduce((title, word) => title + random.pick(separators) + word)
}

/** Search text for a title: pieces, other forms, typos, or something unrelated. */
export function typedFor(random: Random, title: string): string {
  const characters = [...title]
  const from = random.below(characters.length + 1)
  const typed = random.pick([
    () => title,
    () => title.replace(/(?<=\d)[,.'’ \u202f](?=\d{2,3})/g, ''),
    () => characters.slice(from, from + 1 + random.below(12)).join(''),
    () =>
      random
        .shuffled(wordsOf(title))
        .map((word) => beginning(random, word))
        .join(' '),
    () =>
      wordsOf(title)
        .map((word) => misspelt(random, word))
        .join(' '),
    () => misspelt(random, misspelt(random, random.pick(words))),
    () => random.pick(words),
    () => random.pick(['*', '?', '\\', '%', ' ', '&', '+', 'ge*phy', '🚀', 'nothing like it', '漢']),
  ])()
  const written = random.pick([
    (text: string) => text,
    (text: string) => text.toUpperCase(),
    (text: string) => text.toLowerCase(),
    (text: string) => text.normalize('NFD'),
    (text: string) => text.normalize('NFKC'),
  ])(typed)
  return [...written].slice(0, 200).join('')
}

const wordsOf = (title: string): string[] => title.split(/\s+/)

function beginning(random: Random, word: string): string {
  const characters = [...word]
  return characters.slice(0, 1 + random.below(characters.length)).join('')
}

/** Inserts, deletes or replaces a letter, or swaps two. */
function misspelt(random: Random, word: string): string {
  const letters = [...word]
  const at = random.below(letters.length)
  const other = random.pick([...'aeikxqzéßя知か'])
  random.pick([
    () => letters.splice(at, 0, other),
    () => letters.splice(at, 1),
    () => letters.splice(at, 1, other),
    () => letters.splice(at, 2, ...letters.slice(at, at + 2).reverse()),
  ])()
  return letters.join('')
}
