/** Of the topics that contenders consume. */
export const partitions = 4

/** What a contender that consumes a topic is told by its environment. */
type Task = {
  readonly brokers: string[]
  readonly node: string
  readonly topic: string
  readonly groupId: string
  readonly index: string
  /** In the topic: after the last one the index is refreshed. */
  readonly records: number
}

export function readTask(environment: NodeJS.ProcessEnv): Task {
  const named = (name: string): string => {
    const value = environment[name]
    if (value === undefined) throw new Error(`${name} is not set`)
    return value
  }
  return {
    brokers: named('KAFKA_BROKERS').split(','),
    node: named('ELASTICSEARCH_URL'),
    topic: named('TOPIC'),
    groupId: named('CONSUMER_GROUP'),
    index: named('INDEX'),
    records: Number(named('RECORDS')),
  }
}
