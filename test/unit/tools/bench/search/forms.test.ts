import { readFormRecord } from '../../../../../src/core/model/record.ts'
import { createForms, recordOf } from '../../../../../tools/bench/search/forms.ts'

const size = { forms: 3_000, teams: 30 }
const forms = createForms(size)
const all = [...forms.all()]
const { largestTeam, smallTeam } = forms

test('the same forms at every call, in the order of created time, each with a moment and an id of its own', () => {
  expect([...createForms(size).all()]).toEqual(all)
  const times = all.map(({ createdAt }) => createdAt)
  expect(times).toEqual(times.toSorted())
  expect(new Set(times).size).toBe(size.forms)
  expect(new Set(all.map(({ id }) => id)).size).toBe(size.forms)
})

test('teams are of very different sizes; a team alone has its part of all forms', () => {
  const counts = new Map<string, number>()
  for (const { teamId } of all) counts.set(teamId, (counts.get(teamId) ?? 0) + 1)
  expect(counts.size).toBe(size.teams)
  expect(counts.get(largestTeam.id)).toBe(Math.max(...counts.values()))
  expect(counts.get(largestTeam.id)).toBe(largestTeam.forms)
  const sizes = [...counts.values()].sort((a, b) => a - b)
  expect(smallTeam.forms).toBe(sizes[(size.teams >> 1) - 1])
  expect([...forms.ofTeam(smallTeam.id)]).toEqual(all.filter(({ teamId }) => teamId === smallTeam.id))
})

test('titles of a team are mostly distinct, of two words and more, and in several languages', () => {
  const titles = [...forms.ofTeam(largestTeam.id)].map(({ title }) => title)
  expect(new Set(titles.map(({ text }) => text)).size).toBeGreaterThan(0.95 * titles.length)
  expect(new Set(titles.map(({ locale }) => locale)).size).toBe(3)
  const words = titles.filter(({ locale }) => locale === 'en_US').map(({ text }) => text.split(' ').length)
  expect(Math.min(...words)).toBe(2)
  expect(Math.max(...words)).toBeLessThanOrEqual(8)
})

test('records are what a product sends', () => {
  for (const form of all.slice(0, 100)) {
    const { key, value } = recordOf(form)
    const change = readFormRecord(Buffer.from(key), Buffer.from(value))
    expect(change).toMatchObject({ ok: true, value: { live: { entity: { title: form.title.text } } } })
  }
})
