import { unreadLog } from '../../../../indexer/logReplacement.ts'
import { commitMetadata } from '../../../../indexer/startOffsets.ts'
import {
  currentLags,
  type GroupSurvey,
  type Observed,
  surveyGroup,
  type VisibleMs,
} from '../../../../indexer/status/observe.ts'
import type { Config } from '../../../../src/core/config/config.ts'
import type { GenerationTag } from '../../../../src/core/elasticsearch/indices.ts'
import type { KafkaSource } from '../../../../src/core/kafka/source.ts'
import { partitionName } from '../../../../src/core/kafka/sourceRecord.ts'

const nowMs = 1_000_000
const partition = { topic: 'forms', position: 5n, isOwned: true }
const observed = (groupAtMs: number): Observed => ({
  group: {
    atMs: groupAtMs,
    value: {
      partitions: [5, 2].map((behindRecords, at) => ({ ...partition, partition: at, behindRecords })),
      ...{ indexers: 1, deadLetters: 3, rebuild: undefined },
    },
  },
  ...{ watermarkMs: nowMs - 2_500, visibleMs: () => undefined, redisMemory: undefined, indices: undefined },
})

test('the lag of every partition grows while Redis or its indexer is away', () => {
  const visibleMs: VisibleMs = (of) => (partitionName(of) === 'forms/0' ? nowMs - 20_000 : undefined)
  const lagsAt = (groupAtMs: number): unknown[] =>
    currentLags({ ...observed(groupAtMs), visibleMs }, groupAtMs + 2_000).map((lag) => [
      lag.behindRecords,
      lag.behindSeconds,
    ])
  expect(lagsAt(nowMs)).toEqual([
    [5, 20],
    [2, undefined],
  ])
  expect(lagsAt(nowMs + 30_000)[0]).toEqual([5, 50])
})

test('a partition at its end has no lag, and old answers of Kafka are not shown', () => {
  const { group, ...others } = observed(nowMs)
  if (group === undefined) throw new Error('there is no survey')
  const partitions = [{ ...partition, partition: 0, behindRecords: 0, isOwned: false }]
  const atEnd = { ...others, group: { ...group, value: { ...group.value, partitions } } }
  expect(currentLags(atEnd, nowMs).map(({ behindSeconds }) => behindSeconds)).toEqual([0])
  expect(currentLags(atEnd, nowMs + 60_000)).toEqual([])
})

const ends = new Map([
  ['forms/0', { topic: 'forms', partition: 0, low: 10n, high: 110n }],
  ['submissions/0', { topic: 'submissions', partition: 0, low: 0n, high: 300n }],
  ['account-keys/0', { topic: 'account-keys', partition: 0, low: 0n, high: 999n }],
])
const config = {
  ...{ CONSUMER_GROUP: 'indexer', TOPIC_FORMS: 'forms', TOPIC_SUBMISSIONS: 'submissions' },
  ...{ TOPIC_ACCOUNT_KEYS: 'account-keys', TOPIC_DEAD_LETTERS: 'dead-letters' },
} as Config
const [serving, next] = ['1-0123456789abcdef', '2-0123456789abcdef'] as [GenerationTag, GenerationTag]
const commit = (topic: string, position: bigint, generation: GenerationTag) => {
  return { topic, partition: 0, position, metadata: commitMetadata(generation, 0n, 0, unreadLog) }
}

/** What the survey says of a rebuild with these commits while generation 1 serves. */
async function rebuild(commits: ReturnType<typeof commit>[], isRunning: boolean): Promise<GroupSurvey['rebuild']> {
  const source = {
    offsetRanges: async (topics: string[]) => new Map([...ends].filter(([, { topic }]) => topics.includes(topic))),
    committedOffsets: async (group: string) => (group === 'indexer-rebuild' ? commits : []),
    groupMembers: async (group: string) => (group === 'indexer-rebuild' && isRunning ? [[]] : []),
  } as unknown as KafkaSource
  return (await surveyGroup(source, config, 1)).rebuild
}

test('the progress of a rebuild follows its commits, and it is over once its generation serves', async () => {
  expect(await rebuild([], true)).toEqual({ isRunning: true, progress: 0 })
  const commits = [commit('forms', 110n, next), commit('submissions', 100n, next)]
  expect(await rebuild(commits, true)).toEqual({ isRunning: true, progress: 0.5 })
  expect(await rebuild(commits, false)).toEqual({ isRunning: false, progress: 0.5 })
  expect(await rebuild([commit('forms', 110n, serving)], false)).toBeUndefined()
})
