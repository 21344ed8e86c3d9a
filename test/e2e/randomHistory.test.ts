import { eventually } from '../support/eventually.ts'
import { expectFold, expectNothingOfOthers } from '../support/expectFold.ts'
import { randomHistory } from '../support/randomHistory.ts'
import { usePipeline } from '../support/usePipeline.ts'

describe('A random history of five teams, late, doubled, shuffled, with deletions and poison', () => {
  const pipeline = usePipeline({ forEachTest: true })

  test('every list page and every detail equals a fold of the 2,000 events, and poison is set aside as it came', async () => {
    const history = randomHistory(1, 2_000)
    await pipeline.startIndexer()
    await pipeline.createKeys(history.teams)
    await pipeline.produceHistory(history.records)
    const api = await pipeline.startApi()
    await pipeline.untilApplied(api, 'acme')
    await expectFold(pipeline, api, history)
    await expectNothingOfOthers(pipeline, api, history)

    const poison = history.records.filter(({ isPoison }) => isPoison)
    const letters = await pipeline.deadLetters(poison.length)
    expect(bytesOf(letters)).toEqual(bytesOf(poison))
    for (const { headers } of letters)
      expect(headers).toMatchObject({
        'tidemark.path': expect.stringMatching(/\w/),
        'tidemark.reason': expect.stringMatching(/\w/),
      })
  })

  test('an indexer that is killed half way and started again builds the same documents, also over three shards', async () => {
    const history = randomHistory(2, 2_000)
    const first = await pipeline.startIndexer({ INDEX_SHARDS: '3' })
    await pipeline.createKeys(history.teams)
    const half = Math.floor(history.records.length / 2)
    await pipeline.produceHistory(history.records.slice(0, half))
    const rest = pipeline.produceHistory(history.records.slice(half))
    await eventually(async () => (await first.metric('tidemark_records_total')) > half / 2)
    await first.end('SIGKILL')
    await rest
    await pipeline.startIndexer()
    const api = await pipeline.startApi()
    await pipeline.untilApplied(api, 'acme')
    await expectFold(pipeline, api, history)
  })
})

const bytesOf = (records: readonly { key: Buffer | null; value: Buffer | null }[]): string[] =>
  records.map(({ key, value }) => `${key?.toString('hex')} ${value?.toString('hex')}`).sort()
