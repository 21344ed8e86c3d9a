import { createForms } from '../../../../../tools/bench/search/forms.ts'
import { plainSearch, plainSearchOne, plainSource } from '../../../../../tools/bench/search/plainIndex.ts'

const match = { match: { title: { query: 'Fire Safty', fuzziness: 'AUTO', operator: 'and' } } }
const wildcard = { wildcard: { 'title.lower': { value: '*fire safty*' } } }

test('a first attempt asks for both parts at once, or for one alone, of one team, newest first with the exact total', () => {
  const request = plainSearch('team_7', 'Fire Safty', 'match or wildcard')
  expect(request.path).toBe('/plain-forms/_search?routing=team_7')
  expect(JSON.parse(request.body ?? '')).toEqual({
    query: {
      bool: { filter: [{ term: { teamId: 'team_7' } }], should: [match, wildcard], minimum_should_match: 1 },
    },
    sort: [{ teamId: 'asc' }, { position: 'desc' }],
    track_total_hits: true,
    size: 20,
  })
  const shouldOf = (part: 'match' | 'wildcard'): unknown =>
    JSON.parse(plainSearch('team_7', 'Fire Safty', part).body ?? '').query.bool.should
  expect([shouldOf('match'), shouldOf('wildcard')]).toEqual([[match], [wildcard]])
})

test('one form alone is asked for by where it stands', () => {
  const [form] = createForms({ forms: 10, teams: 2 }).all()
  if (form === undefined) throw new Error('there is no form')
  const { position, form: shown } = JSON.parse(plainSource(form))
  expect(JSON.parse(plainSearchOne(form, 'x').body ?? '').query.bool.filter).toEqual([
    { term: { teamId: form.teamId } },
    { term: { position } },
  ])
  expect(shown).toMatchObject({ id: form.id, title: form.title.text })
})
