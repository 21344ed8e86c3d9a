import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kafka } from 'kafkajs'
import type { Logger } from 'pino'
import { readAccountKeyRecord } from '../../src/core/model/change.ts'
import { documentId } from '../../src/core/model/ids.ts'
import { summaryOf } from '../../src/core/process/log.ts'
import { readMemoryRecord } from '../../src/core/stores/accountKeyMemory.ts'
import {
  type AccountKeyStore,
  type AppendPosition,
  appendPositionOf,
  partitionAndOffsetOf,
} from '../../src/core/stores/accountKeyStore.ts'
import { readTopic } from '../readTopic.ts'
import type { SourceRecord } from '../sourceRecord.ts'
import { storedKey } from './apply.ts'

const checkIntervalMs = 1_000

/**
 * Keeps the key view whole until `signal` aborts: whenever Redis is new, was flushed, or restarted (it may have lost its last
 * second), all account keys are folded into it again. Until then every key is answered 503.
 */
export async function keepAccountKeysComplete(options: {
  kafka: Kafka
  /** The account keys, and what is remembered of them beside. */
  topics: { readonly keys: string; readonly memory: string }
  view: AccountKeyStore
  log: Logger
  signal: AbortSignal
  /** Hears why a fold failed, and undefined once one has succeeded. */
  onObstacle: (obstacle: string | undefined) => void
}): Promise<void> {
  const { view, log, signal, onObstacle } = options
  while (!signal.aborted) {
    try {
      if (!(await view.isComplete())) {
        const count = await fold(options)
        onObstacle(undefined)
        log.info({ records: count }, 'key view is complete')
      }
    } catch (error) {
      onObstacle(summaryOf(error))
      if (!signal.aborted) log.warn({ err: error }, 'key view could not be completed; trying again')
    }
    await sleep(checkIntervalMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Reads both topics from their beginning to their present end, at once, and marks the view complete. */
async function fold({ kafka, topics, view, signal }: Parameters<typeof keepAccountKeysComplete>[0]): Promise<number> {
  const token = randomUUID()
  const { complete } = await view.beginReplay(token)
  let count = 0
  const read = (topic: string, part: string, apply: (record: SourceRecord) => Promise<unknown>): Promise<void> => {
    const onRecord = async (record: SourceRecord): Promise<void> => {
      await apply(record)
      count++
    }
    return readTopic({ kafka, topic, groupId: `tidemark-key-replay-${part}-${token}`, signal, onRecord })
  }
  const readings = await Promise.allSettled([
    read(topics.keys, 'keys', (record) => applyKeyRecord(view, record)),
    read(topics.memory, 'memory', (record) => recall(view, record)),
  ])
  for (const reading of readings) if (reading.status === 'rejected') throw reading.reason
  if (!(await complete())) throw new Error('Redis lost keys while they were folded')
  return count
}

async function applyKeyRecord(view: AccountKeyStore, record: SourceRecord): Promise<void> {
  const read = readAccountKeyRecord(record.key, record.value)
  if (!read.ok) return
  const { teamId, entityId } = read.value
  await view.apply(teamId, entityId, storedKey(read.value), appendPositionOf(record))
}

async function recall(view: AccountKeyStore, record: SourceRecord): Promise<void> {
  const memory = readMemoryRecord(record)
  switch (memory?.kind) {
    case 'deleted':
      await view.apply(memory.teamId, memory.keyId, null)
      break
    case 'claim':
      await view.claim(memory)
      break
    case 'newest': {
      const read = readAccountKeyRecord(Buffer.from(documentId(memory.teamId, memory.keyId)), memory.value)
      if (read.ok) await view.apply(memory.teamId, memory.keyId, storedKey(read.value))
      break
    }
    case undefined:
      break
  }
}

/** Reads the record at a place of the keys' topic again; undefined once compaction has taken it: then a newer one is there. */
export async function recordAt(options: {
  kafka: Kafka
  topic: string
  place: AppendPosition
  signal: AbortSignal
}): Promise<SourceRecord | undefined> {
  const { place, ...reading } = options
  const { partition, offset } = partitionAndOffsetOf(place)
  let found: SourceRecord | undefined
  const onRecord = async (record: SourceRecord): Promise<void> => {
    if (record.partition === partition && record.offset === offset) found = record
  }
  await readTopic({ ...reading, groupId: `tidemark-key-replay-again-${randomUUID()}`, onRecord })
  return found
}
