import { untilCommittedPast } from '../../../../indexer/generations/untilCommittedPast.ts'
import { unreadLog } from '../../../../indexer/logReplacement.ts'
import { commitMetadata } from '../../../../indexer/startOffsets.ts'
import type { GenerationTag } from '../../../../src/core/elasticsearch/indices.ts'
import { testConfig } from '../../../support/config.ts'

const config = testConfig({ ELASTICSEARCH_URL: 'http://127.0.0.1:9', REDIS_URL: 'redis://127.0.0.1:9' })
const serving = { number: 1, tag: '1-0123456789abcdef' as GenerationTag }
const other = '2-0123456789abcdef' as GenerationTag
const { signal } = new AbortController()

/** Waits for offset 6 of a partition; the group commits one more of `positions` with each question, the last one for ever. */
async function wait(positions: readonly number[], members: number, tag = serving.tag, onPoll = async () => undefined) {
  let asked = 0
  let extended = 0
  const steps: string[] = []
  const source = {
    committedOffsets: async () => {
      const position = BigInt(positions[Math.min(asked++, positions.length - 1)] ?? 0)
      return [{ topic: 'forms', partition: 0, position, metadata: commitMetadata(tag, 0n, 0, unreadLog) }]
    },
    groupMembers: async () => Array.from({ length: members }, () => []),
  }
  const report = { step: (text: string) => steps.push(text) }
  const afterPoll = (): Promise<unknown> => {
    extended++
    return onPoll()
  }
  const tools = { source, config, report, signal } as unknown as Parameters<typeof untilCommittedPast>[0]
  await untilCommittedPast(tools, serving, new Map([['forms/0', 6n]]), { deadlineMs: 500, afterPoll })
  return { asked, extended, steps: steps.length }
}

test('a rebuild waits until indexers have committed past a record that it could not use, and keeps its lock meanwhile', async () => {
  expect(await wait([6], 1)).toEqual({ asked: 1, extended: 0, steps: 0 })
  expect(await wait([5, 6], 1)).toEqual({ asked: 2, extended: 1, steps: 1 })
})

test('a rebuild gives up in time, also if commits are for another generation', async () => {
  const reason = 'indexers have not committed forms/0 up to 6 for generation 1 yet: run the rebuild again'
  await expect(wait([5], 1)).rejects.toThrow(reason)
  await expect(wait([9], 1, other)).rejects.toThrow(reason)
})

test('a rebuild does not wait if no indexer reads', async () => {
  expect(await wait([5], 0)).toEqual({ asked: 1, extended: 0, steps: 0 })
})

test('a rebuild ends once another rebuild has taken over its generation', async () => {
  const taken = (): Promise<undefined> => Promise.reject(new Error('another rebuild fills generation 2'))
  await expect(wait([9], 1, other, taken)).rejects.toThrow('another rebuild fills generation 2')
})
