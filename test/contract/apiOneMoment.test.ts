import { useApi } from '../support/api.ts'
import { submissionEntity } from '../support/entities.ts'
import { type Exchange, passes } from '../support/faultyElasticsearch.ts'
import { Gate } from '../support/gate.ts'

const team = 'team-1'
const count = 60
const submission = (at: number) => {
  const [id, submittedAt] = [`s-${at}`, new Date(Date.UTC(2026, 2, 1, 0, at)).toISOString()] as const
  return { team, id, entity: submissionEntity({ id, submittedAt }) }
}

const api = useApi({
  submissions: Array.from({ length: count }, (_, at) => submission(at)),
  watermark: '2026-11-21T10:00:00.000Z',
  settings: { ANSWER_CACHE_BYTES: '0' },
  hasFaultyElasticsearch: true,
})

type Page = { readonly totalDocs: number; readonly items: readonly { readonly id: string }[] }

const isSearch = ({ path }: Exchange): boolean => path.includes('_search?')

/** The page when the list has so many items. */
const pageOf = (total: number): object => ({
  totalDocs: total,
  items: [{ id: `s-${total - 1}` }, { id: `s-${total - 2}` }],
})
const seen = ({ totalDocs, items }: Page): object => ({ totalDocs, items: items.map(({ id }) => ({ id })) })

test.each([
  ['the first', 0],
  ['any later', 1],
])('a page and its total agree also if a change becomes visible before %s search of it', async (_which, passed) => {
  let stored = count + passed
  const gate = new Gate()
  let searches = 0
  const holds = async (exchange: Exchange): Promise<void> => {
    if (searches++ >= passed) await gate.pass()
    await passes(exchange)
  }
  const held = api.elasticsearch.inject('', holds, { when: isSearch })
  const page = api.read<Page>('/api/v1/records?limit=2')
  await Promise.race([gate.untilReached(), page])
  // Visible, but its list has the same version as before.
  await api.replica.storeSubmissions(submission(stored++))
  held.lift()
  gate.open()
  expect([pageOf(stored - 1), pageOf(stored)]).toContainEqual(seen(await page))
})
