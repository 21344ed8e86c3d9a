import { formEntity } from '../support/entities.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'
/** Id → title; newest first in this order. */
const titles = {
  science: 'Science Basics: Physics & Chemistry',
  geography: 'Geography of Europe',
  umlaut: 'Prüfung für Straßenbau',
  accents: 'Café Crème — Niveau 2',
  chinese: '产品知识测验',
  japanese: 'カタカナ クイズ',
  cyrillic: 'Ёлка и Мир',
  signs: '100% *sure*? C:\\quiz',
  party: 'Party 🎉🎉 time',
  heart: 'I ❤️ quizzes',
  sun: '☀️ holiday',
  year: 'Exam 2024',
  nextYear: 'Exam 2025',
  cat: 'Cat facts',
  long: 'Unforgettable mathematics',
  hyphen: 'Self-Assessment (50% + A/B_x)',
  apostrophe: 'What’s new in C++/C#, v3.5…',
  french: 'Pré-Évaluation  n° 7',
  mixed: '版本3.5：人力HR問卷',
  hebrew: 'מבחן תל־אביב',
}

const api = useApi({
  teams: [team, 'team-2'],
  forms: [
    ...Object.entries(titles).map(([id, title], index) => ({
      team,
      id,
      entity: formEntity({ id, title, createdAt: new Date(Date.UTC(2026, 5, 30 - index)).toISOString() }),
    })),
    { team: 'team-2', id: 'foreign', entity: formEntity({ id: 'foreign', title: 'Sciense Basics' }) },
  ],
})

const find = async (typed: string, more = '', sentKey = api.key): Promise<string[]> => {
  const target = `/api/v1/forms?titleContains=${encodeURIComponent(typed)}${more}`
  const { status, json } = await api.send(target, { key: sentKey })
  expect(status).toBe(200)
  const { items, totalDocs } = json as { items: { id: string }[]; totalDocs: number }
  expect(totalDocs).toBe(items.length)
  return items.map(({ id }) => id)
}

test.each(['…', '⑽', '.', 'a', '。', 'ﷺ', '🎉', '(', '\\', 'a.'])(
  'as much of %j as may be typed is searched for, and found',
  async (piece) => {
    const title = piece.repeat(200).slice(0, 200 - (200 % piece.length))
    const typed = [...title].slice(0, 200).join('')
    const id = `repeated-${piece.codePointAt(0)}-${piece.length}`
    await api.replica.storeForms({ team, id, entity: formEntity({ id, title }) })
    expect(await find(typed)).toContain(id)
    await api.replica.storeForms({ team, id, entity: null })
  },
)

describe('titleContains finds', () => {
  test.each([
    ['a whole title', 'Geography of Europe', ['geography']],
    ['a piece of it', 'graphy of eur', ['geography']],
    ['any letter case', 'gEoGrApHy', ['geography']],
    ['beginnings of words in any order', 'chem sci', ['science']],
    ['past punctuation', 'basics physics chemistry', ['science']],
    ['marks left out', 'prufung', ['umlaut']],
    ['marks typed in another form', 'Pru\u0308fung', ['umlaut']],
    ['ß as ss', 'strassenbau', ['umlaut']],
    ['accents left out', 'cafe creme', ['accents']],
    ['marks that the title lacks', 'Géography', ['geography']],
    ['full-width letters', 'Ｅｕｒｏｐｅ', ['geography']],
    ['Chinese inside a word', '知识', ['chinese']],
    ['hiragana for katakana', 'かたかな', ['japanese']],
    ['Cyrillic е for ё', 'елка', ['cyrillic']],
    ['several, newest first', 'exam', ['year', 'nextYear']],
  ])('%s', async (_what, typed, expected) => {
    expect(await find(typed)).toEqual(expected)
  })

  test.each([
    ['an asterisk as itself', '*', ['signs']],
    ['a question mark as itself', '?', ['signs']],
    ['a backslash as itself', '\\', ['signs']],
    ['emoji', '🎉', ['party']],
    ['an emoji with a variation selector, not its neighbours', '❤️', ['heart']],
    ['punctuation', '—', ['accents']],
    ['punctuation between spaces', ' — ', ['accents']],
  ])('%s', async (_what, typed, expected) => {
    expect(await find(typed)).toEqual(expected)
  })
})

describe('titleContains does not find', () => {
  test.each([
    ['a piece with another sign in it', 'lf_ass'],
    ['words that no title has', 'astronomy'],
    ['when one of the words is missing', 'science europe'],
    ['misspelt words below 4 letters', 'cot'],
    ['misspelt words with a digit', 'exam 2026'],
    ['two mistakes below 8 letters', 'eorupa'],
    ['a wildcard', 'ge*phy'],
    ['emoji that no title has', '🚀'],
  ])('%s', async (_what, typed) => {
    expect(await find(typed)).toEqual([])
  })

  test('similar titles when a title holds what was typed', async () => {
    expect(await find('science')).toEqual(['science'])
    expect(await find('exam 2024')).toEqual(['year'])
  })
})
