import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AccountKey } from '../../src/core/model/accountKey.ts'
import type { Change } from '../../src/core/model/record.ts'
import type { Problem } from '../../src/core/model/result.ts'
import type { Config } from '../../src/core/process/config.ts'
import { claimRecord, deletedRecords, newestRecord } from '../../src/core/stores/accountKeyMemory.ts'
import {
  type AccountKeyStore,
  type AppendPosition,
  type Applied,
  type ApplyRecordResult,
  appendPositionOf,
  type DisplacedKey,
  partitionAndOffsetOf,
  type StoredKey,
} from '../../src/core/stores/accountKeyStore.ts'
import type { KafkaSink } from '../../src/core/stores/kafkaSink.ts'
import type { KafkaSource } from '../../src/core/stores/kafkaSource.ts'
import type { SourceRecord } from '../../src/core/stores/sourceRecord.ts'
import type { Retries } from '../backoff.ts'
import type { DeadLetterWriter } from '../deadLetters/deadLetterWriter.ts'

const completeCheckMs = 200
const digestHeld: Problem = { path: 'key.digest', rule: 'is held by another key' }

type AccountKeyApplierDeps = {
  readonly config: Config
  readonly source: KafkaSource
  readonly sink: KafkaSink
  readonly store: AccountKeyStore
  readonly deadLetters: DeadLetterWriter
  readonly retries: Retries
}

/** The key as the account-key store holds it, or null when it is deleted. */
export const storedKey = ({ live }: Change<AccountKey>): StoredKey | null =>
  live === null ? null : { ...live.entity, revision: live.revision }

/**
 * Applies account-key records to the store as the indexer consumes them. It waits until the store is complete, because only a
 * complete store knows which of two keys with the same digest was first. What compaction could remove is written to the
 * key-memory topic before a record counts as processed. Every step may be repeated.
 */
export class AccountKeyApplier {
  readonly #deps: AccountKeyApplierDeps
  #completing: Promise<void> | undefined

  constructor(deps: AccountKeyApplierDeps) {
    this.#deps = deps
  }

  /** Applies a change until that succeeds; returns the problem of a key whose digest belongs to another one. */
  async apply(
    change: Change<AccountKey>,
    record: SourceRecord,
    signal: AbortSignal,
  ): Promise<'indexed' | 'stale' | Problem> {
    const attempt = (): Promise<Applied> => this.#apply(change, record, signal)
    const applied = await this.#deps.retries.untilDone('applying an account key', attempt, signal)
    if (applied === 'digest-held') return digestHeld
    return applied === 'applied' ? 'indexed' : 'stale'
  }

  async #apply(change: Change<AccountKey>, record: SourceRecord, signal: AbortSignal): Promise<Applied> {
    const { teamId, entityId } = change
    let mayDisplace: DisplacedKey | undefined
    for (;;) {
      const result = await this.#deps.store.applyRecord(
        teamId,
        entityId,
        storedKey(change),
        appendPositionOf(record),
        mayDisplace,
      )
      switch (result.kind) {
        case 'incomplete':
          await this.#untilComplete(signal)
          break
        case 'displaces':
          // Before the digest is taken from its holder: a repetition after a crash finds the holder again.
          if (result.at !== undefined) await this.#writeDeadLetter(result.at, signal)
          mayDisplace = result.holder
          break
        case 'applied':
        case 'stale':
        case 'digest-held':
          await this.#remember(change, result)
          return result.kind
      }
    }
  }

  /** All waiting records share one poll. */
  #untilComplete(signal: AbortSignal): Promise<void> {
    const poll = async (): Promise<void> => {
      while (!(await this.#deps.store.isComplete())) await sleep(completeCheckMs, undefined, { signal })
    }
    this.#completing ??= poll().finally(() => {
      this.#completing = undefined
    })
    return this.#completing
  }

  /** Appends to the key-memory topic what compaction of the account-keys topic may remove of a change. */
  async #remember(
    { teamId, entityId }: Change<AccountKey>,
    { isDeleted, contested, newest }: Extract<ApplyRecordResult, { kind: Applied }>,
  ): Promise<void> {
    const { sink, config } = this.#deps
    const topic = config.TOPIC_KEY_MEMORY
    const records = contested.map((claim) => claimRecord(topic, claim))
    if (newest !== undefined) records.push(newestRecord(topic, teamId, entityId, newest))
    // Also a key that only Redis knows to be deleted: its creation failed, or the process that deleted it died.
    const needed = isDeleted ? deletedRecords(topic, teamId, entityId) : records
    if (needed.length > 0) await sink.append(needed)
  }

  /** Writes the dead letter of a record that was applied earlier. When compaction has removed it, a newer one exists. */
  async #writeDeadLetter(position: AppendPosition, signal: AbortSignal): Promise<void> {
    const { source, config, deadLetters } = this.#deps
    const { partition, offset } = partitionAndOffsetOf(position)
    let found: SourceRecord | undefined
    await source.readTopic({
      topic: config.TOPIC_ACCOUNT_KEYS,
      groupId: `tidemark-key-replay-again-${randomUUID()}`,
      ranges: new Map([[partition, { from: offset, to: offset + 1n }]]),
      signal,
      onRecord: async (record) => {
        found = record
      },
    })
    if (found !== undefined) await deadLetters.write(found, digestHeld)
  }
}
