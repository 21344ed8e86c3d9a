import type { CommandTools } from '../../../../indexer/engineCommand.ts'
import type { Reconciliation, Version } from '../../../../indexer/generations/reconcile.ts'
import { raiseUnseen } from '../../../../indexer/generations/rereadTopics.ts'
import type { ReadOptions } from '../../../../src/core/kafka/readTopic.ts'
import { noHeaders } from '../../../../src/core/kafka/recordHeaders.ts'
import type { KafkaSource } from '../../../../src/core/kafka/source.ts'
import type { Offset } from '../../../../src/core/model/ids.ts'
import type { DocumentKind } from '../../../../src/core/stores/indices.ts'
import { testConfig } from '../../../support/config.ts'
import { stateRecord } from '../../../support/randomHistory.ts'

const config = testConfig({ ELASTICSEARCH_URL: 'http://127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1' })
/** More than one part, of which the last is not full. */
const count = 501
const topic = config.TOPIC_FORMS
const watermarkMs = Date.parse('2026-03-01T00:00:10.000Z')
const at = (offset: number): Offset => BigInt(offset) as Offset

test('each record that no indexer has committed is raised, those of the last part too', async () => {
  const raised: string[] = []
  const reads = async ({ onRecord, ranges }: ReadOptions): Promise<void> => {
    expect([...(ranges ?? [])]).toMatchObject([[0, { from: 0n, to: BigInt(count) }]])
    for (let each = 0; each < count; each++) {
      const place = { topic, partition: 0, offset: at(each), appendedAtMs: watermarkMs - 5_000, headers: noHeaders }
      await onRecord({ ...stateRecord('forms', `acme/f${each}`, 1), ...place })
    }
  }
  const source = { committedOffsets: async () => [], readTopic: reads } as unknown as KafkaSource
  const options = { config, source, signal: new AbortController().signal } as CommandTools
  const raiseTimes = async (kind: DocumentKind, times: readonly Version[]): Promise<void> => {
    expect(kind).toBe('forms')
    expect(times.length).toBeLessThanOrEqual(500)
    for (const { id, version, changedAt } of times)
      if (version === 1 && changedAt === new Date(watermarkMs).toISOString()) raised.push(id)
  }
  const read = new Map([[`${topic}/0`, { topic, partition: 0, low: 0n, high: BigInt(count) }]])
  await raiseUnseen(options, { raiseTimes } as unknown as Reconciliation, watermarkMs, read, async () => undefined)
  expect(raised).toHaveLength(count)
})
