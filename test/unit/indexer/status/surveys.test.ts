import { commitMetadata } from '../../../../indexer/committedOffsets.ts'
import {
  type GroupSurvey,
  type PartitionSurvey,
  progressBetween,
  type RebuildSurvey,
  surveyGroup,
} from '../../../../indexer/status/surveys.ts'
import type { KafkaSource } from '../../../../src/core/kafka/source.ts'
import type { Config } from '../../../../src/core/process/config.ts'
import type { GenerationTag } from '../../../../src/core/stores/indices.ts'

const ends = new Map([
  ['forms/0', { topic: 'forms', partition: 0, low: 10n, high: 110n }],
  ['submissions/0', { topic: 'submissions', partition: 0, low: 0n, high: 300n }],
  ['account-keys/0', { topic: 'account-keys', partition: 0, low: 0n, high: 999n }],
])
const config = {
  CONSUMER_GROUP: 'indexer',
  TOPIC_FORMS: 'forms',
  TOPIC_SUBMISSIONS: 'submissions',
  TOPIC_ACCOUNT_KEYS: 'account-keys',
  TOPIC_DEAD_LETTERS: 'dead-letters',
} as Config
const [serving, next] = ['1-0123456789abcdef', '2-0123456789abcdef'] as [GenerationTag, GenerationTag]
const commit = (topic: string, position: bigint, generation: GenerationTag) => {
  return { topic, partition: 0, position, metadata: commitMetadata(generation, 0n, 0, 0) }
}

/** What the survey says of a rebuild with these commits while generation 1 serves. */
async function rebuild(commits: ReturnType<typeof commit>[], isRunning: boolean): Promise<RebuildSurvey | undefined> {
  const source = {
    offsetRanges: async (topics: string[]) => new Map([...ends].filter(([, { topic }]) => topics.includes(topic))),
    committedOffsets: async (group: string) => (group === 'indexer-rebuild' ? commits : []),
    groupMembers: async (group: string) => (group === 'indexer-rebuild' && isRunning ? [[]] : []),
  } as unknown as KafkaSource
  return (await surveyGroup(source, config, 1)).rebuild
}

describe('a rebuild', () => {
  test('is there as soon as it runs', async () => {
    expect(await rebuild([], true)).toEqual({ isRunning: true, progress: 0 })
  })

  test('has come as far as its commits say, of the records that there are', async () => {
    const commits = [commit('forms', 110n, next), commit('submissions', 100n, next)]
    expect(await rebuild(commits, true)).toEqual({ isRunning: true, progress: 0.5 })
    expect(await rebuild(commits, false)).toEqual({ isRunning: false, progress: 0.5 })
  })

  test('is over once its generation is the one that serves', async () => {
    expect(await rebuild([commit('forms', 110n, serving)], false)).toBeUndefined()
  })
})

describe('progress between two surveys', () => {
  const survey = (...positions: bigint[]): GroupSurvey => ({
    partitions: positions.map(
      (position, partition): PartitionSurvey => ({
        topic: 'forms',
        partition,
        position,
        behindRecords: 0,
        isOwned: true,
      }),
    ),
    indexers: 1,
    deadLetters: 0,
    rebuild: undefined,
  })

  test('is what all partitions have gone on by', () => {
    expect(progressBetween(survey(5n, 10n), survey(8n, 30n))).toBe(23)
  })

  test('a partition that began again, or was added, counts nothing', () => {
    expect(progressBetween(survey(50n), survey(3n, 40n))).toBe(0)
  })
})
