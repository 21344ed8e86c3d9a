import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { documentId } from '../../src/core/model/ids.ts'
import { readAccountKeyRecord } from '../../src/core/model/record.ts'
import type { Config } from '../../src/core/process/config.ts'
import { summaryOf } from '../../src/core/process/log.ts'
import { readMemoryRecord } from '../../src/core/stores/accountKeyMemory.ts'
import { type AccountKeyStore, appendPositionOf } from '../../src/core/stores/accountKeyStore.ts'
import type { KafkaSource } from '../../src/core/stores/kafkaSource.ts'
import type { SourceRecord } from '../../src/core/stores/sourceRecord.ts'
import { storedKey } from './apply.ts'

const checkIntervalMs = 1_000

type AccountKeyReplayDeps = {
  readonly config: Config
  readonly source: KafkaSource
  readonly store: AccountKeyStore
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Keeps the account-key store complete: whenever Redis is new, was flushed, or restarted (it may have lost its last second), all
 * account keys are replayed from Kafka. Until then every request is answered with 503.
 */
export class AccountKeyReplay {
  readonly #deps: AccountKeyReplayDeps
  #blockedReason: string | undefined

  constructor(deps: AccountKeyReplayDeps) {
    this.#deps = deps
  }

  /** Why the last replay failed; undefined once one has succeeded. */
  blockedReason(): string | undefined {
    return this.#blockedReason
  }

  /** Checks the store once a second, until the signal aborts. */
  async run(): Promise<void> {
    const { store, log, signal } = this.#deps
    while (!signal.aborted) {
      try {
        if (!(await store.isComplete())) {
          const count = await this.#replay()
          this.#blockedReason = undefined
          log.info({ records: count }, 'account-key replay completed')
        }
      } catch (error) {
        this.#blockedReason = summaryOf(error)
        if (!signal.aborted) log.warn({ err: error }, 'account-key replay failed; trying again')
      }
      await sleep(checkIntervalMs, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Reads both topics to their present end, in parallel, and marks the store complete. Returns the number of records. */
  async #replay(): Promise<number> {
    const { config, source, store, signal } = this.#deps
    const token = randomUUID()
    const { complete } = await store.beginReplay(token)
    let count = 0
    const read = (topic: string, part: string, apply: (record: SourceRecord) => Promise<unknown>): Promise<void> => {
      const onRecord = async (record: SourceRecord): Promise<void> => {
        await apply(record)
        count++
      }
      return source.readTopic({ topic, groupId: `tidemark-key-replay-${part}-${token}`, signal, onRecord })
    }
    const reads = await Promise.allSettled([
      read(config.TOPIC_ACCOUNT_KEYS, 'keys', (record) => applyKeyRecord(store, record)),
      read(config.TOPIC_KEY_MEMORY, 'memory', (record) => applyMemoryRecord(store, record)),
    ])
    for (const each of reads) if (each.status === 'rejected') throw each.reason
    if (!(await complete())) throw new Error('Redis lost account keys during the replay')
    return count
  }
}

async function applyKeyRecord(store: AccountKeyStore, record: SourceRecord): Promise<void> {
  const read = readAccountKeyRecord(record.key, record.value)
  if (!read.ok) return
  const { teamId, entityId } = read.value
  await store.apply(teamId, entityId, storedKey(read.value), appendPositionOf(record))
}

async function applyMemoryRecord(store: AccountKeyStore, record: SourceRecord): Promise<void> {
  const memory = readMemoryRecord(record)
  switch (memory?.kind) {
    case 'deleted':
      await store.apply(memory.teamId, memory.keyId, null)
      break
    case 'claim':
      await store.claim(memory)
      break
    case 'newest': {
      const read = readAccountKeyRecord(Buffer.from(documentId(memory.teamId, memory.keyId)), memory.value)
      if (read.ok) await store.apply(memory.teamId, memory.keyId, storedKey(read.value))
      break
    }
    case undefined:
      break
  }
}
