import { scriptOf } from '../../../support/titleRelevance/scripts.ts'

test.each([
  ['Größe ＡＢＣ ﬁ', 'Latin'],
  ['Ерунда', 'Cyrillic'],
  ['λόγος', 'Greek'],
  ['שָׁלוֹם', 'Hebrew'],
  ['اِسْتِبْيان ٢٠٢٦', 'Arabic'],
  ['परीक्षा', 'Devanagari'],
  ['গণিত', 'Bengali'],
  ['தேர்வு', 'Tamil'],
  ['แบบทดสอบ', 'Thai'],
  ['թեստ', 'Armenian'],
  ['ქართული', 'Georgian'],
  ['期末 2026', 'Han'],
  ['시험', 'Hangul'],
  ['日本語のサーバー', 'Kana'],
  ['ｱﾝｹｰﾄ', 'Kana'],
  ['ⵜⴰⵎⴰⵣⵉⵖⵜ', 'other'],
  ['HR问卷', 'mixed'],
  ['Excel テスト', 'mixed'],
  ['50/50 🎉 ー', 'symbols'],
  ['', 'symbols'],
])('%p is %s', (text, script) => {
  expect(scriptOf(text)).toBe(script)
})
