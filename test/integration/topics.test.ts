import { createTopics } from '../../src/core/kafka/source.ts'
import { usePipeline } from '../support/pipeline.ts'
import { withAdmin } from '../support/topics.ts'

const pipeline = usePipeline()

test('topics that were just created have leaders', async () => {
  const batches = Array.from({ length: 10 }, (_, batch) =>
    Array.from({ length: 5 }, (_, each) => ({
      topic: `${pipeline.names.TOPIC_FORMS}-${batch}-${each}`,
      numPartitions: 4,
    })),
  )
  await withAdmin(pipeline.kafka, async (admin) => {
    for (const topics of batches) {
      await createTopics(admin, topics)
      const { topics: known } = await admin.fetchTopicMetadata({ topics: topics.map(({ topic }) => topic) })
      expect(known.flatMap(({ partitions }) => partitions.filter(({ leader }) => leader >= 0))).toHaveLength(20)
    }
    await admin.deleteTopics({ topics: batches.flat().map(({ topic }) => topic) })
  })
})
