import { createHash } from 'node:crypto'
import fc from 'fast-check'
import type { TeamId } from '../../src/core/model/ids.ts'
import { foldTitle, titleSalt, titleSaltLength } from '../../src/core/model/titles.ts'
import { anyText, percentEncoded } from '../support/anyText.ts'
import { type TestAnswer, useApi } from '../support/api.ts'
import { formEntity } from '../support/entities.ts'
import { containsPiece, pieceOf } from '../support/plainPieces.ts'
import { seeded } from '../support/random.ts'
import { randomTitle, typedFor } from '../support/randomTitles.ts'

const asked = 50
const teams = ['acme', 'Globex-2026', 'a1b2c3d4e5f60718', 'team.one:two_three'] as TeamId[]
const [first = '' as TeamId, second = '' as TeamId] = teams
const greekTeams = teams.map((team) => `${team}.gr` as TeamId)

const seed = fc.integer({ min: 0 })
const anyTitle = fc.oneof(
  { weight: 3, arbitrary: seed.map((each) => randomTitle(seeded(each))) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
)
const longTitle = Array.from({ length: 300 }, (_, index) => `word${index} 第${index}章`).join(', ')
/** At most a page of them. */
const titles = [...fc.sample(anyTitle, 79), longTitle]
const searched = titles.map((title) => title.slice(0, 2_000))
const greekTitles = ['Ερωτηματολόγιο', 'ΤΕΛΙΚΗ Εξέταση', 'γνώσεις ιστορίας', 'Μαθηματικά']

/** Sorts alike in every team. */
const idOf = (team: TeamId, index: number): string => `${team}:${index}`

const stored: readonly [TeamId, readonly string[]][] = [
  [first, titles],
  [second, titles],
  ...greekTeams.map((team) => [team, greekTitles] as [TeamId, string[]]),
]
const api = useApi({
  teams: stored.map(([team]) => team),
  forms: stored.flatMap(([team, some]) =>
    some.map((title, index) => {
      const id = idOf(team, index)
      return { team, id, entity: formEntity({ id, title }) }
    }),
  ),
})

const ask = (team: TeamId, encoded: string): Promise<TestAnswer> =>
  api.send(`/api/v1/forms?limit=100&titleContains=${encoded}`, { key: api.keyOf(team) })

async function idsFound(team: TeamId, typed: string): Promise<string[]> {
  const { status, json } = await ask(team, encodeURIComponent(typed))
  expect(status).toBe(200)
  return (json as { items: { id: string }[] }).items.map(({ id }) => id)
}

const holds = <T>(arbitrary: fc.Arbitrary<T>, property: (value: T) => Promise<void>): Promise<void> =>
  fc.assert(fc.asyncProperty(arbitrary, property), { numRuns: asked, endOnFailure: true })

test('a search for any part of a folded title finds the title', async () => {
  const place = fc.record({
    index: fc.nat(titles.length - 1),
    from: fc.nat(2_000),
    length: fc.integer({ min: 1, max: 200 }),
  })
  await holds(place, async ({ index, from, length }) => {
    const characters = [...foldTitle(titles[index] ?? '')]
    const start = from % (characters.length + 1)
    const typed = characters
      .slice(start, start + length)
      .join('')
      .trim()
    if (typed !== '')
      expect([typed, await idsFound(first, typed)]).toEqual([typed, expect.arrayContaining([idOf(first, index)])])
  })
})

test('a search for any part of a title finds every title that contains it, whatever punctuation it has', async () => {
  const piece = fc.tuple(fc.constantFrom(...searched), seed).map(([title, each]) => pieceOf(seeded(each), title))
  await holds(
    piece.filter((typed) => typed !== ''),
    async (typed) => {
      const holding = searched.flatMap((title, index) => (containsPiece(title, typed) ? [idOf(first, index)] : []))
      expect({ typed, found: await idsFound(first, typed) }).toEqual({ typed, found: expect.arrayContaining(holding) })
    },
  )
})

test('for any search, two teams with the same titles get the same answer, each from its own forms', async () => {
  const typed = fc.oneof(
    fc.tuple(seed, fc.constantFrom(...titles)).map(([each, title]) => typedFor(seeded(each), title)),
    fc.string({ unit: 'grapheme', maxLength: 20 }),
  )
  await holds(typed, async (text) => {
    const [mine = [], theirs = []] = await Promise.all([first, second].map((team) => ownTitlesFound(team, text)))
    expect(theirs).toEqual(mine)
  })
})

async function ownTitlesFound(team: TeamId, typed: string): Promise<(string | undefined)[]> {
  const ids = await idsFound(team, typed)
  expect(ids.filter((id) => !id.startsWith(`${team}:`))).toEqual([])
  return ids.map((id) => titles[Number(id.slice(team.length + 1))])
}

test("a search for any part of a team's salt finds none of its titles", async () => {
  const secret = fc.constantFrom(...greekTeams).chain((team) => {
    const hash = createHash('sha256').update(team)
    const texts = [team, titleSalt(team), hash.copy().digest('hex'), hash.copy().digest('base64')]
    return fc
      .tuple(fc.constantFrom(...texts), fc.nat(100), fc.integer({ min: 1, max: titleSaltLength }))
      .map(([text, from, length]) => ({ team, typed: text.slice(from % text.length).slice(0, length) }))
  })
  await holds(secret, async ({ team, typed }) => {
    expect(await idsFound(team, typed)).toEqual([])
  })
  for (const team of greekTeams) expect(await idsFound(team, 'ερωτηματ')).toEqual([idOf(team, 0)])
})

test('a search for any text is answered, or refused for its length', async () => {
  // To shrink a long text would take thousands of requests.
  await holds(fc.noShrink(anyText), async (text) => {
    const { status } = await ask(first, percentEncoded(text))
    if (!text.isWellFormed()) expect([200, 400]).toContain(status)
    else expect(status).toBe([...text].length <= 200 ? 200 : 400)
  })
})

test.each(['…', '⑽', '.', 'a', '。', 'ﷺ', '🎉', '(', '\\', 'a.'])(
  'a search for the longest allowed beginning of %j finds it',
  async (piece) => {
    const title = piece.repeat(200).slice(0, 200 - (200 % piece.length))
    const id = `repeated-${piece.codePointAt(0)}-${piece.length}`
    await api.replica.storeForms({ team: first, id, entity: formEntity({ id, title }) })
    expect(await idsFound(first, [...title].slice(0, 200).join(''))).toContain(id)
    await api.replica.storeForms({ team: first, id, entity: null })
  },
)
