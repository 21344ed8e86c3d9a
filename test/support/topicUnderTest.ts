import { randomUUID } from 'node:crypto'
import type { OffsetSpan } from '../../src/core/kafka/readTopic.ts'
import type { KafkaSink, NewRecord } from '../../src/core/kafka/sink.ts'
import type { KafkaSource, OffsetRange } from '../../src/core/kafka/source.ts'
import type { SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { eventually } from './eventually.ts'
import { type GroupReader, type ReaderOptions, startGroupReader } from './groupReader.ts'

const patienceMs = 30_000

/** A Kafka client with a unique topic and group. */
export class TopicUnderTest {
  readonly topic = `test-${randomUUID()}`
  readonly groupId = `test-${randomUUID()}`
  readonly source: KafkaSource
  readonly sink: KafkaSink
  readonly #readers: GroupReader[] = []

  constructor({ openSource, sink }: { openSource(): KafkaSource; readonly sink: KafkaSink }) {
    this.source = openSource()
    this.sink = sink
  }

  /** Creates the topic, with log-append time, and waits until it exists. */
  async create(partitions: number): Promise<void> {
    const settings = { 'message.timestamp.type': 'LogAppendTime' }
    await this.source.createMissingTopics([{ topic: this.topic, partitions, settings }])
    await eventually(async () => (await this.ranges().catch(() => [])).length === partitions)
  }

  async append(values: readonly string[], key = 'key'): Promise<void> {
    await this.appendRecords(values.map((value) => ({ key, value })))
  }

  async appendRecords(records: readonly Omit<NewRecord, 'topic'>[]): Promise<void> {
    await this.sink.append(records.map((record) => ({ topic: this.topic, ...record })))
  }

  async read(spans?: ReadonlyMap<number, OffsetSpan>): Promise<SourceRecord[]> {
    const records: SourceRecord[] = []
    const onRecord = async (record: SourceRecord): Promise<void> => {
      records.push(record)
    }
    const signal = AbortSignal.timeout(patienceMs)
    await this.source.readTopic({ topic: this.topic, signal, onRecord, ...(spans && { spans }) })
    return records
  }

  /** The offset ranges of the partitions, in order. */
  async ranges(): Promise<OffsetRange[]> {
    const ranges = [...(await this.source.offsetRanges([this.topic])).values()]
    return ranges.toSorted((a, b) => a.partition - b.partition).map(({ low, high }) => ({ low, high }))
  }

  /** Appends deletions; resolves with one key per partition. */
  async keyOfEach(partitions: number): Promise<string[]> {
    const keys = new Map<number, string>()
    await this.appendRecords(Array.from({ length: 10 * partitions }, (_, key) => ({ key: String(key), value: null })))
    for (const { key, partition } of await this.read()) keys.set(partition, String(key))
    return Array.from({ length: partitions }, (_, partition) => keys.get(partition) ?? '')
  }

  startReader(options: ReaderOptions = {}): GroupReader {
    const reader = startGroupReader(this.source, this.groupId, [this.topic], options)
    this.#readers.push(reader)
    return reader
  }

  async close(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.close()))
    await this.sink.disconnect()
    await this.source.close()
  }
}
