import { eventually } from '../support/eventually.ts'
import { expectFold } from '../support/expectFold.ts'
import type { Program } from '../support/programs.ts'
import { randomHistory } from '../support/randomHistory.ts'
import { usePipeline } from '../support/usePipeline.ts'

describe('Indexers come and go under load', () => {
  const pipeline = usePipeline({ forEachTest: true })

  const hasIndexed = (indexer: Program): Promise<void> =>
    eventually(async () => (await indexer.metric('tidemark_records_total')) > 0)

  test('a second one joins, the first leaves, a third joins, the second is killed: every record takes effect exactly once', async () => {
    const history = randomHistory(11, 4_000)
    const first = await pipeline.startIndexer()
    await pipeline.createKeys(history.teams)
    const quarter = history.records.length / 4
    const produce = (from: number): Promise<void> =>
      pipeline.produceHistory(history.records.slice(from * quarter, (from + 1) * quarter))

    await produce(0)
    const second = await pipeline.startIndexer()
    await produce(1)
    await hasIndexed(second)
    expect(await first.end('SIGTERM')).toBe(0)
    await produce(2)
    const third = await pipeline.startIndexer()
    await second.end('SIGKILL')
    await produce(3)
    await hasIndexed(third)

    const api = await pipeline.startApi()
    await pipeline.untilApplied(api, 'acme')
    await expectFold(pipeline, api, history)
  })
})
