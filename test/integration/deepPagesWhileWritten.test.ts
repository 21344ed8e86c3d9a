import { useStarted } from '../support/late.ts'
import { usePipeline } from '../support/pipeline.ts'
import { stateRecord } from '../support/randomHistory.ts'

const team = 'acme'
const [bursts, burstSize] = [12, 12]

const pipeline = usePipeline()
beforeAll(() => pipeline.startIndexer())
const api = useStarted('the API', () => pipeline.startApi({ DEEP_PAGE_FROM: '1' }))
beforeAll(() => pipeline.createKeys([team]))

type Page = { readonly totalDocs: number; readonly items: readonly { readonly id: string }[] }
/** How many submissions were appended for certain by a moment of the broker's clock. */
type Appended = { readonly count: number; readonly byMs: number }

test('a deep page holds everything appended before its watermark, read again and again while bursts are written', async () => {
  await pipeline.untilApplied(api, team)
  const appended: Appended[] = []
  let isWritten = false
  const write = async (): Promise<void> => {
    for (let burst = 0; burst < bursts; burst++) {
      const messages = Array.from({ length: burstSize }, (_, at) =>
        stateRecord('submissions', `${team}/s-${burst * burstSize + at}`, 1),
      )
      await pipeline.produce('submissions', messages)
      appended.push({ count: (burst + 1) * burstSize, byMs: pipeline.appendedAtMs() })
      // Pages are read several times before and after a burst is seen.
      if (burst % 5 === 0) await pipeline.untilApplied(api, team)
    }
    await pipeline.untilApplied(api, team)
    isWritten = true
  }

  const totals: number[] = []
  const read = async (): Promise<void> => {
    while (!isWritten) {
      const { status, headers, body } = await pipeline.get(api, team, '/api/v1/records?limit=2&page=2')
      const { totalDocs, items }: Page = body
      const watermarkMs = Date.parse(headers.get('replica-watermark') ?? '')
      const promised = appended.findLast(({ byMs }) => byMs < watermarkMs)?.count ?? 0
      const shown = Math.min(Math.max(totalDocs - 2, 0), 2)
      expect([status, totalDocs >= promised, items.length]).toEqual([200, true, shown])
      totals.push(totalDocs)
    }
  }
  await Promise.all([write(), read()])
  expect(totals.at(-1)).toBe(bursts * burstSize)
  expect(totals.length).toBeGreaterThan(new Set(totals).size)
})
