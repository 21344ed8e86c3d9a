import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { connectKafka } from '../../src/core/kafka/client.ts'
import { kafkaSource } from '../../src/core/kafka/source.ts'
import type { SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { testConfig } from './config.ts'

const deadlineMs = 30_000

/** What a topic holds now of these keys, in whatever codec, partition by partition; aborted records are not among it. */
export async function topicRecords(topic: string, keys: readonly string[]): Promise<SourceRecord[]> {
  const source = kafkaSource(connectKafka(testConfig({}), pino({ level: 'silent' })))
  const found: SourceRecord[] = []
  const onRecord = async (record: SourceRecord): Promise<void> => {
    if (keys.includes(String(record.key))) found.push(record)
  }
  try {
    await source.readTopic({ topic, groupId: randomUUID(), signal: AbortSignal.timeout(deadlineMs), onRecord })
  } finally {
    await source.close()
  }
  return found
}
