import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kafka, Message, Producer } from 'kafkajs'
import type { AccountKey } from '../../src/core/model/accountKey.ts'
import type { Change } from '../../src/core/model/record.ts'
import type { Problem } from '../../src/core/model/result.ts'
import type { Config } from '../../src/core/process/config.ts'
import { claimMessage, deletedMessages, newestMessage } from '../../src/core/stores/accountKeyMemory.ts'
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
import type { Retries } from '../backoff.ts'
import type { DeadLetterWriter } from '../deadLetters/deadLetterWriter.ts'
import { readTopic } from '../readTopic.ts'
import type { SourceRecord } from '../sourceRecord.ts'

const completeCheckMs = 200
const digestHeld: Problem = { path: 'key.digest', rule: 'is held by another key' }

export type AccountKeyApplierDeps = {
  readonly config: Config
  readonly kafka: Kafka
  readonly producer: Producer
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
      const verdict = await this.#deps.store.applyRecord(
        teamId,
        entityId,
        storedKey(change),
        appendPositionOf(record),
        mayDisplace,
      )
      switch (verdict.kind) {
        case 'incomplete':
          await this.#untilComplete(signal)
          break
        case 'displaces':
          // Before the digest is taken from its holder: a repetition after a crash finds the holder again.
          if (verdict.at !== undefined) await this.#writeDeadLetter(verdict.at, signal)
          mayDisplace = verdict.holder
          break
        case 'applied':
        case 'stale':
        case 'digest-held':
          await this.#remember(memoryMessages(change, verdict))
          return verdict.kind
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

  async #remember(messages: Message[]): Promise<void> {
    const { producer, config } = this.#deps
    if (messages.length > 0) await producer.send({ topic: config.TOPIC_KEY_MEMORY, acks: -1, messages })
  }

  /** Writes the dead letter of a record that is not at hand. Nothing to do when compaction removed it: a newer one exists. */
  async #writeDeadLetter(place: AppendPosition, signal: AbortSignal): Promise<void> {
    const { kafka, config, deadLetters } = this.#deps
    const { partition, offset } = partitionAndOffsetOf(place)
    let found: SourceRecord | undefined
    const onRecord = async (record: SourceRecord): Promise<void> => {
      if (record.partition === partition && record.offset === offset) found = record
    }
    const groupId = `tidemark-key-replay-again-${randomUUID()}`
    await readTopic({ kafka, topic: config.TOPIC_ACCOUNT_KEYS, groupId, signal, onRecord })
    if (found !== undefined) await deadLetters.write(found, digestHeld)
  }
}

/** What the key-memory topic must hold of a change, because compaction of the account-keys topic may remove it. */
function memoryMessages(
  { teamId, entityId }: Change<AccountKey>,
  { isDeleted, contested, newest }: Extract<ApplyRecordResult, { kind: Applied }>,
): Message[] {
  // Also a key that only Redis knows to be deleted: its creation failed, or the process that deleted it died.
  if (isDeleted) return deletedMessages(teamId, entityId)
  const messages = contested.map(claimMessage)
  return newest === undefined ? messages : [...messages, newestMessage(teamId, entityId, newest)]
}
