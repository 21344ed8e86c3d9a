import { replacedLog, unreadLog } from '../../../../indexer/logReplacement.ts'
import { commitMetadata } from '../../../../indexer/startOffsets.ts'
import { currentLags, type Observed, type VisibleMs } from '../../../../indexer/status/observe.ts'
import { type GroupSurvey, surveyGroup } from '../../../../indexer/status/surveyGroup.ts'
import type { Config } from '../../../../src/core/config/config.ts'
import type { GenerationTag } from '../../../../src/core/elasticsearch/indices.ts'
import type { KafkaSource } from '../../../../src/core/kafka/source.ts'
import { partitionName } from '../../../../src/core/kafka/sourceRecord.ts'
import { observedState, watched, watchedGroup } from '../../../support/observedState.ts'

const nowMs = 1_000_000
const observed = (groupAtMs: number): Observed =>
  observedState({
    group: {
      atMs: groupAtMs,
      value: watchedGroup({ partitions: [5, 2].map((behindRecords, at) => watched(`forms/${at}`, { behindRecords })) }),
    },
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
  const value = watchedGroup({ partitions: [watched('forms/0', { behindRecords: 0, owner: undefined })] })
  const atEnd = observedState({ group: { atMs: nowMs, value } })
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
const commit = (topic: string, position: bigint, generation: GenerationTag, coveredUntilMs = 5, log = unreadLog) => {
  return { topic, partition: 0, position, metadata: commitMetadata(generation, 0n, coveredUntilMs, log) }
}
type Commits = readonly ReturnType<typeof commit>[]

async function survey(own: Commits, ofRebuild: Commits = [], rebuilding = 0): Promise<GroupSurvey> {
  const member = { id: 'tidemark-1', host: '10.0.0.4', partitions: [{ topic: 'forms', partition: 0 }] }
  const source = {
    offsetRanges: async (topics: string[]) => new Map([...ends].filter(([, { topic }]) => topics.includes(topic))),
    committedOffsets: async (group: string) => (group === 'indexer-rebuild' ? ofRebuild : own),
    groupMembers: async (group: string) => Array(group === 'indexer-rebuild' ? rebuilding : 1).fill(member),
  } as unknown as KafkaSource
  return await surveyGroup(source, config, 1)
}

test('the progress of a rebuild follows its commits, and it is over once its generation serves', async () => {
  const rebuild = async (commits: Commits, members: number) => (await survey([], commits, members)).rebuild
  expect(await rebuild([], 1)).toEqual({ isRunning: true, members: 1, progress: 0 })
  const commits = [commit('forms', 110n, next), commit('submissions', 100n, next)]
  expect(await rebuild(commits, 3)).toEqual({ isRunning: true, members: 3, progress: 0.5 })
  expect(await rebuild(commits, 0)).toEqual({ isRunning: false, members: 0, progress: 0.5 })
  expect(await rebuild([commit('forms', 110n, serving)], 0)).toBeUndefined()
})

test('each partition has its owner, and what its commit says of its log and of deletions', async () => {
  const commits = [commit('forms', 60n, serving, 77, replacedLog), commit('submissions', 300n, serving, 0)]
  const { partitions, indexers } = await survey([...commits, commit('account-keys', 9n, serving, 0)])
  expect(indexers).toEqual([{ id: 'tidemark-1', host: '10.0.0.4' }])
  expect(partitions).toMatchObject([
    { behindRecords: 50, owner: 'tidemark-1', coveredUntilMs: 77, isReplaced: true, mayLackDeletions: false },
    { behindRecords: 0, owner: undefined, coveredUntilMs: undefined, isReplaced: false, mayLackDeletions: true },
    { behindRecords: 990, mayLackDeletions: false },
  ])
})
