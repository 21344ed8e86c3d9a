import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OffsetSpan } from '../../src/core/kafka/readTopic.ts'
import type { OffsetRange } from '../../src/core/kafka/source.ts'
import type { TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import type { DocumentKind } from '../../src/core/stores/indices.ts'
import { fetchCommittedOffsets, rebuildGroup } from '../committedOffsets.ts'
import { projectRecord } from '../projectRecord.ts'
import { documentTopics } from '../topics.ts'
import type { RebuildOptions } from './rebuildOptions.ts'
import type { Reconciliation } from './reconcile.ts'
import type { Version } from './versions.ts'

const raisedAtOnce = 500
/** Indexers that run commit what they have read within a second. */
const patienceMs = 5_000
const pollMs = 250

/** Topic → partition → the records of it that no indexer has committed. */
type Unseen = ReadonlyMap<string, ReadonlyMap<number, OffsetSpan>>

/**
 * Gives records a `changedAt` not below `watermarkMs`, the last watermark that readers know, if they were read before it was known (`readBefore`,
 * by partition name) and no indexer has committed them: readers see them first in the new generation. Indexers that run commit them within
 * a second; when they are behind or stopped, the records are read once more. No content changes: one of two contents under one revision is a
 * dead letter. `extendHold` is called at least every few seconds.
 */
export async function raiseUnseen(
  options: RebuildOptions,
  reconciliation: Reconciliation,
  watermarkMs: number,
  readBefore: ReadonlyMap<string, OffsetRange & TopicPartition>,
  extendHold: () => Promise<void>,
): Promise<void> {
  const { config, source, signal } = options
  let unseen = await findUnseen(options, readBefore)
  for (let waitedMs = 0; unseen.size > 0 && waitedMs < patienceMs; waitedMs += pollMs) {
    await sleep(pollMs, undefined, { signal })
    await extendHold()
    unseen = await findUnseen(options, readBefore)
  }
  for (const [topic, ranges] of unseen) {
    const kind: DocumentKind = topic === config.TOPIC_FORMS ? 'forms' : 'submissions'
    let pending: Version[] = []
    const raise = async (): Promise<void> => {
      await reconciliation.raiseTimes(kind, pending)
      await extendHold()
      pending = []
    }
    await extendHold()
    await source.readTopic({
      ...{ topic, ranges, signal, groupId: `${rebuildGroup(config.CONSUMER_GROUP)}-${randomUUID()}` },
      onRecord: async (record) => {
        const changedAtMs = Math.max(record.appendedAtMs, watermarkMs)
        const projection = projectRecord(record, changedAtMs, config)
        if (projection.kind !== 'documents') return
        const lists = projection.documents.filter((each) => each.kind === kind)
        pending.push(...lists.map(({ id, version }) => ({ id, version, changedAt: toInstant(changedAtMs) })))
        if (pending.length >= raisedAtOnce) await raise()
      },
    })
    await raise()
  }
}

async function findUnseen(
  { config, source }: RebuildOptions,
  readBefore: ReadonlyMap<string, OffsetRange & TopicPartition>,
): Promise<Unseen> {
  const committed = await fetchCommittedOffsets(source, config.CONSUMER_GROUP, documentTopics(config))
  const unseen = new Map<string, Map<number, OffsetSpan>>()
  for (const [name, { topic, partition, low, high }] of readBefore) {
    const from = committed.get(name)?.position ?? low
    if (from < high) unseen.set(topic, new Map([...(unseen.get(topic) ?? []), [partition, { from, to: high }]]))
  }
  return unseen
}
