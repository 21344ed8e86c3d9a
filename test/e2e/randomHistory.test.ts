import { expectFold, expectNothingOfOthers } from '../support/expectFold.ts'
import { usePipeline } from '../support/pipeline.ts'
import { randomHistory } from '../support/randomHistory.ts'
import { startServing } from '../support/startServing.ts'

const pipeline = usePipeline()

test('after 2,000 records of five teams, late, repeated, shuffled, deleted and rejected, every page and item is the newest state, and each rejected record is a dead letter byte for byte', async () => {
  const history = randomHistory(1, 2_000)
  const { api } = await startServing(pipeline, history)
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
