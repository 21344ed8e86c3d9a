const scripts = [
  ...['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Georgian', 'Hebrew', 'Arabic'],
  ...['Devanagari', 'Bengali', 'Tamil', 'Thai', 'Han', 'Hiragana', 'Katakana', 'Hangul'],
]
const patterns = scripts.map((name) => [name, new RegExp(`\\p{Script=${name}}`, 'u')] as const)
/** Letters of all scripts alike, such as the Japanese long mark, tell nothing. */
const tellingLetters = /[^\P{L}\p{Script=Common}\p{Script=Inherited}]/gu

/**
 * The script in which a text is written: a name of Unicode; `Kana` for Japanese, with or without Han; `symbols` when there is
 * no letter in it; `other` for one that is not told apart here; else `mixed`.
 */
export function scriptOf(text: string): string {
  const found = new Set((text.match(tellingLetters) ?? []).map(scriptOfLetter))
  if (found.has('Kana')) found.delete('Han')
  const [script = 'symbols', ...more] = found
  return more.length === 0 ? script : 'mixed'
}

function scriptOfLetter(letter: string): string {
  const name = patterns.find(([, pattern]) => pattern.test(letter))?.[0] ?? 'other'
  return name === 'Hiragana' || name === 'Katakana' ? 'Kana' : name
}
