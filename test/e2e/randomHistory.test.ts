import { expectFold, expectNothingOfOthers } from '../support/expectFold.ts'
import { usePipeline } from '../support/pipeline.ts'
import { randomHistory } from '../support/randomHistory.ts'

const pipeline = usePipeline()

test('of five teams, late, doubled, shuffled, with deletions and rejected records: every page and detail is the fold of the 2,000 events, and each rejected record a dead letter as it came', async () => {
  const history = randomHistory(1, 2_000)
  await pipeline.startIndexer()
  await pipeline.createKeys(history.teams)
  await pipeline.produceHistory(history.records)
  const api = await pipeline.startApi()
  await pipeline.untilApplied(api, 'acme')
  await expectFold(pipeline, api, history)
  await expectNothingOfOthers(pipeline, api, history)

  const expected = history.records.filter(({ isDeadLetter }) => isDeadLetter)
  const letters = await pipeline.deadLetters(expected.length)
  expect(bytesOf(letters)).toEqual(bytesOf(expected))
  for (const { headers } of letters)
    expect(headers).toMatchObject({
      'tidemark.path': expect.stringMatching(/\w/),
      'tidemark.reason': expect.stringMatching(/\w/),
    })
})

const bytesOf = (records: readonly { key: Buffer | null; value: Buffer | null }[]): string[] =>
  records.map(({ key, value }) => `${key?.toString('hex')} ${value?.toString('hex')}`).sort()
