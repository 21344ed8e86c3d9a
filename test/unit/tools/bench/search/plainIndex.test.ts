import { createForms } from '../../../../../tools/bench/search/forms.ts'
import { plainSearch, plainSource } from '../../../../../tools/bench/search/plainIndex.ts'

const match = { match: { title: { query: 'Fire Safty', fuzziness: 'AUTO', operator: 'and' } } }
const wildcard = { wildcard: { 'title.lower': { value: '*fire safty*' } } }

test('a first attempt asks for both parts at once, of one team, newest first with the exact total', () => {
  const request = plainSearch('team_7', 'Fire Safty')
  expect(request.path).toBe('/plain-forms/_search?routing=team_7')
  expect(JSON.parse(request.body ?? '')).toEqual({
    query: {
      bool: { filter: [{ term: { teamId: 'team_7' } }], should: [match, wildcard], minimum_should_match: 1 },
    },
    sort: [{ teamId: 'asc' }, { position: 'desc' }],
    track_total_hits: true,
    size: 20,
  })
})

test('a document shows the form, and where it stands in its list', () => {
  const [form] = createForms({ forms: 10, teams: 2 }).all()
  if (form === undefined) throw new Error('there is no form')
  expect(JSON.parse(plainSource(form))).toMatchObject({
    position: `${form.createdAt}|${form.id}`,
    form: { id: form.id, title: form.title.text },
  })
})
