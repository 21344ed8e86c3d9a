import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../src/core/config/config.ts'
import type { KafkaSink } from '../src/core/kafka/sink.ts'
import type { KafkaSource } from '../src/core/kafka/source.ts'
import { type AppendPosition, appendPositionOf, type SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import { type AccountKeyState, recordValueOf } from '../src/core/model/accountKey.ts'
import type { DocumentId } from '../src/core/model/ids.ts'
import { type RecordKey, readAccountKeyRecord } from '../src/core/model/record.ts'
import type { Problem } from '../src/core/model/schema.ts'
import { summaryOf } from '../src/core/monitoring/log.ts'
import type { AccountKeyStore, ContestedDigest } from '../src/core/redis/accountKeyStore.ts'
import { type Retries, until } from './backoff.ts'
import { sameRevision } from './deadLetters/deadLetters.ts'
import { readTopicRules } from './topics.ts'

const checkIntervalMs = 1_000
const completePollMs = 200
const maxContested = 100

/** `Problem`: why the record is rejected. */
export type RecordResult = 'indexed' | 'stale' | Problem

export type KeyChange = RecordKey & AccountKeyState

type AccountKeysDeps = {
  readonly config: Config
  readonly source: KafkaSource
  readonly sink: KafkaSink
  readonly store: AccountKeyStore
  readonly retries: Retries
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Applies account-key records to the account-key store. The store is no longer complete when Redis is new, was flushed, or was restarted and so may have lost
 * its last second of writes: then the topic is replayed.
 */
export class AccountKeys {
  readonly #deps: AccountKeysDeps
  /** All waiting records share this poll of Redis. */
  #pollUntilComplete: Promise<unknown> | undefined
  replayError: string | undefined
  /** SHA-256 digests that several live keys have: the API refuses such keys. */
  contested: readonly ContestedDigest[] = []

  constructor(deps: AccountKeysDeps) {
    this.#deps = deps
  }

  /**
   * Applies a change once the store is complete, with retries. Resolves with a problem if the revision was stored before with other content.
   *
   * Records of a key may be appended in the wrong order:
   * 1. The topic has revision 7 of a key, then revision 6. Compaction will remove 7, the earlier record.
   * 2. This method applies the record of 6. The store returns its `newest` state, 7.
   * 3. This method appends 7 again. Only then does the record of 6 count as processed.
   */
  async apply(change: KeyChange, record: SourceRecord, signal: AbortSignal): Promise<RecordResult> {
    const { store, sink, retries } = this.#deps
    const position = appendPositionOf(record)
    const attempt = async (): Promise<RecordResult> => {
      const applyOnce = () => store.apply(change.teamId, change.entityId, change, position, 'when complete')
      let result = await applyOnce()
      while (result.kind === 'incomplete') {
        await this.#untilComplete(signal)
        result = await applyOnce()
      }
      if (result.newest !== undefined)
        await sink.append([{ topic: record.topic, key: record.key, value: recordValueOf(result.newest) }])
      if (result.kind === 'conflict') return sameRevision
      return result.kind === 'applied' ? 'indexed' : 'stale'
    }
    return await retries.untilDone('applying an account key', attempt, signal)
  }

  #untilComplete(signal: AbortSignal): Promise<unknown> {
    const isComplete = () => this.#deps.store.isComplete()
    this.#pollUntilComplete ??= until(isComplete, Number.POSITIVE_INFINITY, signal, completePollMs).finally(() => {
      this.#pollUntilComplete = undefined
    })
    return this.#pollUntilComplete
  }

  /**
   * Replays whenever the store is not complete. Also replays if Redis runs anew since the last check:
   * 1. Redis fails over. Another process replays into the new master: the store is complete.
   * 2. This process still applies a record to the former master: the write is lost.
   * 3. The next check finds another run of Redis, and the replay applies the lost record.
   */
  async keepComplete(): Promise<void> {
    const { store, log, signal } = this.#deps
    /** An id that changes at a restart or failover of Redis; undefined if the store was not complete. */
    let lastRun: string | undefined
    while (!signal.aborted) {
      try {
        const run = await store.runIfComplete()
        const hasNewRun = lastRun !== undefined && run !== lastRun
        if (run === undefined || hasNewRun) {
          const records = await this.replay()
          log.info({ records }, 'account-key replay completed')
        }
        lastRun = run
        this.contested = await store.contestedDigests(maxContested)
        this.replayError = undefined
      } catch (error) {
        this.replayError = summaryOf(error)
        if (!signal.aborted) log.warn({ err: error }, 'account-key replay failed; trying again')
      }
      await sleep(checkIntervalMs, undefined, { signal }).catch(() => undefined)
    }
  }

  /**
   * Reads the topic to its present end, removes keys without a record, and marks the store complete. Returns the number of records.
   *
   * A compacted topic has a record of each live key. A key without one was deleted while no indexer ran, and Kafka has removed the deletion; or Redis was set
   * back to an earlier state. If the topic is not compacted, no key is removed.
   * 1. Lists the keys that Redis has now.
   * 2. Reads the topic. Keys with a record leave the list.
   * 3. If keys are left, reads the topic again: in step 2, compaction may have removed an unread record because a newer one was appended beyond the end.
   * 4. Removes the keys that are left, except a key whose position has changed since step 1: it has got a record.
   */
  async replay(): Promise<number> {
    const { config, source, store, log } = this.#deps
    const { complete } = await store.beginReplay(randomUUID())
    const { wrongPolicies } = await readTopicRules(source, config)
    const withoutRecord =
      config.TOPIC_ACCOUNT_KEYS in wrongPolicies ? new Map<DocumentId, AppendPosition>() : await store.readPositions()
    const records = await this.#readTopic(withoutRecord, async (record) => {
      const result = readAccountKeyRecord(record.key, record.value)
      if (!result.ok) return
      const { teamId, entityId, ...state } = result.value
      await store.apply(teamId, entityId, state, appendPositionOf(record))
    })
    // Few keys lack a record because of deletions. If they outnumber the records, the topic was probably lost.
    if (withoutRecord.size > records)
      throw new Error(
        `${config.TOPIC_ACCOUNT_KEYS} has ${records} records and none of ${withoutRecord.size} keys: was it lost? Have them all appended again`,
      )
    if (withoutRecord.size > 0) {
      await this.#readTopic(withoutRecord)
      for (const [id, position] of withoutRecord) await store.forget(id, position)
      if (withoutRecord.size > 0)
        log.warn({ keys: withoutRecord.size }, 'forgot account keys that are in no record any more')
    }
    if (!(await complete())) throw new Error('Redis lost account keys during the replay')
    return records
  }

  /** Removes keys with a record from `withoutRecord`. Returns the number of records. */
  async #readTopic(
    withoutRecord: Map<DocumentId, AppendPosition>,
    onRecord: (record: SourceRecord) => Promise<void> = async () => undefined,
  ): Promise<number> {
    const { config, source, signal } = this.#deps
    let count = 0
    await source.readTopic({
      topic: config.TOPIC_ACCOUNT_KEYS,
      signal,
      onRecord: async (record) => {
        count++
        withoutRecord.delete(record.key?.toString() as DocumentId)
        await onRecord(record)
      },
    })
    return count
  }
}
