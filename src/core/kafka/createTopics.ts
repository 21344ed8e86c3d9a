import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Admin, type ITopicConfig } from 'kafkajs'

const leadersMs = 10_000
const leaderCheckMs = 100

/**
 * Creates topics and waits until every partition has a leader, for ten seconds at most. KafkaJS's own `waitForLeaders` fails when
 * the broker does not know the topics yet, which is usual for a moment after they were created.
 */
export async function createTopics(admin: Admin, topics: ITopicConfig[]): Promise<void> {
  if (topics.length === 0) return
  await admin.createTopics({ topics, waitForLeaders: false })
  const names = topics.map(({ topic }) => topic)
  for (let waitedMs = 0; !(await haveLeaders(admin, names)); waitedMs += leaderCheckMs) {
    if (waitedMs >= leadersMs)
      throw new kafkajs.KafkaJSError(`no leader yet for every partition of ${names.join(', ')}`)
    await sleep(leaderCheckMs)
  }
}

async function haveLeaders(admin: Admin, names: string[]): Promise<boolean> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: names })
    return topics.every(({ partitions }) => partitions.length > 0 && partitions.every(({ leader }) => leader >= 0))
  } catch (error) {
    if (!(error instanceof kafkajs.KafkaJSProtocolError)) throw error
    if (error.type !== 'UNKNOWN_TOPIC_OR_PARTITION' && error.type !== 'LEADER_NOT_AVAILABLE') throw error
    return false
  }
}
