import { useApi } from '../support/api.ts'
import { submissionEntity } from '../support/entities.ts'
import { type Exchange, passes } from '../support/faultyElasticsearch.ts'
import { Gate } from '../support/gate.ts'

const team = 'team-1'
const list = `submissions/${team}` as const
const count = 60
const submission = (at: number) => {
  const [id, submittedAt] = [`s-${at}`, new Date(Date.UTC(2026, 2, 1, 0, at)).toISOString()] as const
  return { team, id, entity: submissionEntity({ id, submittedAt }) }
}

/** With these settings, lists of more than forty rows are long ones, whose total may come from another search than their rows. */
const api = useApi({
  submissions: Array.from({ length: count }, (_, at) => submission(at)),
  watermark: '2026-11-21T10:00:00.000Z',
  settings: { DEEP_PAGE_FROM: '2', ANSWER_CACHE_BYTES: '0' },
  hasFaultyElasticsearch: true,
})

type Page = { readonly totalDocs: number; readonly items: readonly { readonly id: string }[] }
const read = (): Promise<Page> => api.read<Page>('/api/v1/records?limit=2')

/** A change, as an indexer makes it visible: the mark comes before it, the version after it. */
async function change(at: number): Promise<void> {
  await api.replica.setPending(list, true)
  await api.replica.storeSubmissions(submission(at))
}
async function settle(): Promise<void> {
  await api.replica.replaceChangeToken(list)
  await api.replica.setPending(list, false)
}

type Search = { readonly size: number; readonly track_total_hits: boolean; readonly terminate_after?: number }
const searchIn = ({ path, body }: Exchange): Search | undefined =>
  path.includes('_search?') ? (JSON.parse(body.toString()) as Search) : undefined
const asksForRows = (exchange: Exchange): boolean => (searchIn(exchange)?.size ?? 0) > 0
const counts = (exchange: Exchange): boolean => {
  const { size, track_total_hits: isCounted, terminate_after: end } = searchIn(exchange) ?? {}
  return size === 0 && isCounted === true && end === undefined
}

let stored = count
/** The page before and after the last change. */
const pages = () => [stored - 1, stored].map((total) => pageOf(total))
const pageOf = (total: number): object => ({
  totalDocs: total,
  items: [{ id: `s-${total - 1}` }, { id: `s-${total - 2}` }],
})
const seen = ({ totalDocs, items }: Page): object => ({ totalDocs, items: items.map(({ id }) => ({ id })) })

test.each([
  ['the rows of a list that was counted before', asksForRows, 'counted'],
  ['the rows of a list that was not counted since it changed', asksForRows, 'changed'],
  ['the rows of a list that is about to change', asksForRows, 'pending'],
  ['the count of a list that was not counted since it changed', counts, 'changed'],
])(
  'the total counts each item of a page where a change becomes visible while it waits for %s',
  async (_what, when, state) => {
    // Now the list is known to be long.
    await read()
    if (state === 'changed') await api.replica.replaceChangeToken(list)
    if (state === 'pending') await api.replica.setPending(list, true)
    const gate = new Gate()
    const holds = async (exchange: Exchange): Promise<void> => {
      await gate.pass()
      await passes(exchange)
    }
    const held = api.elasticsearch.inject('', holds, { when })
    const page = read()
    await gate.untilReached()
    await change(stored++)
    held.lift()
    gate.open()
    expect(pages()).toContainEqual(seen(await page))
    await settle()
    expect(seen(await read())).toEqual(pageOf(stored))
  },
)

test('a page of a long list that rests is found without counting its rows again', async () => {
  await read()
  const searches = api.elasticsearch.inject('', passes, { when: (exchange) => searchIn(exchange) !== undefined })
  const counted = api.elasticsearch.inject('', passes, {
    when: (exchange) => searchIn(exchange)?.track_total_hits === true,
  })
  expect(seen(await read())).toEqual(pageOf(stored))
  expect([searches.met(), counted.met()]).toEqual([1, 0])
})
