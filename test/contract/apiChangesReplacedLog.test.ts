import { useApi } from '../support/api.ts'
import { rowsOf, walkChanges } from '../support/changeFeed.ts'
import { submissionEntity } from '../support/entities.ts'

const team = 'team-1'
const instant = '2026-11-28T08:30:00.000Z'
const api = useApi({ teams: [team], watermark: instant })

test('a feed returns each document that a rebuild copied from a replaced topic once, although they share a position', async () => {
  const recordOf = (id: string) => ({ team, id, entity: submissionEntity({ id }) })
  const copied = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  await api.replica.storeSubmissions(...copied.map((id) => ({ ...recordOf(id), isOfReplacedLog: true })))
  await api.replica.storeSubmissions(recordOf('own'), recordOf('other'))
  await api.replica.publishPositions(instant, { lists: ['submissions/team-1'] })
  for (const query of ['limit=1', 'limit=4', 'limit=3&view=full', 'limit=9', 'limit=100&view=full']) {
    const rows = rowsOf(await walkChanges((target) => api.get(target), `/api/v1/record-changes?${query}`))
    expect(rows.map(({ id }) => id).toSorted()).toEqual([...copied, 'other', 'own'].toSorted())
  }
})
