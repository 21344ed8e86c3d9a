import { useApi } from '../support/api.ts'
import { submissionEntity } from '../support/entities.ts'

const team = 'team-1'
const ids = Array.from({ length: 50 }, (_, at) => `s${at}`)

const api = useApi({
  submissions: ids.map((id) => ({ team, id, entity: submissionEntity({ id }) })),
  settings: { DEEP_PAGE_FROM: '1' },
})

test('while a change is pending, pages near the top and deep ones show the same list, from every process', async () => {
  const list = `submissions/${team}`
  await api.replica.publishWatermark('2026-11-21T10:00:00.000Z')
  const processes = [await api.startAnother(), await api.startAnother({ DEEP_PAGE_FROM: '10000' })]
  const totals = (): Promise<unknown[]> =>
    Promise.all(
      [...processes, api].map(async ({ send }) => {
        const { json } = await send('/api/v1/records?limit=20&page=2', { key: api.key })
        return (json as { totalDocs: number }).totalDocs
      }),
    )
  expect(await totals()).toEqual([50, 50, 50])
  await api.replica.setPending(list, true)
  await api.replica.storeSubmissions({ team, id: 'pending', entity: submissionEntity({ id: 'pending' }) })
  expect(await totals()).toEqual([51, 51, 51])
  await api.replica.replaceChangeToken(list)
  await api.replica.setPending(list, false)
  expect(await totals()).toEqual([51, 51, 51])
})
