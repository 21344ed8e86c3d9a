import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kafka } from 'kafkajs'
import type { Logger } from 'pino'
import type { AccountKey } from '../src/domain/accountKey.ts'
import { type Change, readAccountKeyRecord } from '../src/domain/record.ts'
import type { Applied, KeyView } from '../src/replica/keyView.ts'

const checkIntervalMs = 1_000
const foldDeadlineMs = 600_000
const fetchWaitMs = 250
/** Fetches without a record after which nothing is left, though markers or compacted records lie before the end. */
const quietFetches = 4

/** Applies one change of an account key to the view. */
export const applyKeyChange = (view: KeyView, { teamId, entityId, live }: Change<AccountKey>): Promise<Applied> =>
  view.apply(teamId, entityId, live === null ? null : { ...live.entity, revision: live.revision })

/**
 * Keeps the key view whole until `signal` aborts: whenever Redis is new, was flushed, or restarted (it may have lost its last
 * second), all account keys are folded into it again. Until then every key is answered 503.
 */
export async function keepKeyView(options: {
  kafka: Kafka
  topic: string
  view: KeyView
  log: Logger
  signal: AbortSignal
}): Promise<void> {
  const { view, log, signal } = options
  while (!signal.aborted) {
    try {
      if (!(await view.isComplete())) {
        const count = await fold(options)
        log.info({ records: count }, 'key view is complete')
      }
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'key view could not be completed; trying again')
    }
    await sleep(checkIntervalMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Reads the topic from its beginning to its present end, outside the indexer's group, and marks the view complete. */
async function fold({ kafka, topic, view, signal }: Parameters<typeof keepKeyView>[0]): Promise<number> {
  const token = randomUUID()
  const { complete } = await view.beginFold(token)
  const ends = await presentEnds(kafka, topic)
  let count = 0
  if (ends.size > 0) {
    await readTo(kafka, topic, ends, `tidemark-key-fold-${token}`, signal, async (key, value) => {
      const read = readAccountKeyRecord(key, value)
      if (read.ok) await applyKeyChange(view, read.value)
      count++
    })
  }
  if (!(await complete())) throw new Error('Redis lost keys while they were folded')
  return count
}

/** Partitions that hold records → the offset after their last one. */
async function presentEnds(kafka: Kafka, topic: string): Promise<Map<number, bigint>> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    const offsets = await admin.fetchTopicOffsets(topic)
    const held = offsets.filter(({ low, high }) => BigInt(low) < BigInt(high))
    return new Map(held.map(({ partition, high }) => [partition, BigInt(high)]))
  } finally {
    await admin.disconnect()
  }
}

async function readTo(
  kafka: Kafka,
  topic: string,
  ends: Map<number, bigint>,
  groupId: string,
  signal: AbortSignal,
  onRecord: (key: Buffer | null, value: Buffer | null) => Promise<void>,
): Promise<void> {
  const consumer = kafka.consumer({
    groupId,
    maxWaitTimeInMs: fetchWaitMs,
    retry: { restartOnFailure: async () => false },
  })
  const done = Promise.withResolvers<void>()
  const reached = (partition: number, lastOffset: string): void => {
    if (BigInt(lastOffset) + 1n >= (ends.get(partition) ?? 0n)) ends.delete(partition)
    if (ends.size === 0) done.resolve()
  }
  let quiet = 0
  consumer.on(consumer.events.CRASH, ({ payload }) => done.reject(payload.error))
  consumer.on(consumer.events.GROUP_JOIN, () => {
    quiet = 0
  })
  consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
    quiet = 0
    if (payload.batchSize === 0) reached(payload.partition, payload.lastOffset)
  })
  consumer.on(consumer.events.FETCH, () => {
    if (++quiet > quietFetches) done.resolve()
  })
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(foldDeadlineMs)])
  const onAbort = (): void => done.reject(deadline.reason)
  deadline.addEventListener('abort', onAbort, { once: true })
  try {
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, heartbeat }) => {
        for (const message of batch.messages) {
          await onRecord(message.key, message.value)
          await heartbeat()
        }
        reached(batch.partition, batch.lastOffset())
      },
    })
    await done.promise
  } finally {
    deadline.removeEventListener('abort', onAbort)
    await consumer.disconnect()
  }
}
