import { setTimeout as sleep } from 'node:timers/promises'
import type { KafkaSink } from '../../src/core/kafka/sink.ts'
import type { SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { type AccountKeyState, recordValueOf } from '../../src/core/model/accountKey.ts'
import type { RecordKey } from '../../src/core/model/record.ts'
import type { Problem } from '../../src/core/model/result.ts'
import { type AccountKeyStore, type Applied, appendPositionOf } from '../../src/core/stores/accountKeyStore.ts'
import type { Retries } from '../backoff.ts'
import { sameRevision } from '../deadLetters/deadLetters.ts'

const completeCheckMs = 200

type AccountKeyApplierDeps = {
  readonly sink: KafkaSink
  readonly store: AccountKeyStore
  readonly retries: Retries
}

/**
 * Applies account-key records to the store as the indexer consumes them. A record that was appended after a newer one would outlive it in
 * the compacted topic; so the newer one is appended again before the record counts as processed. Every step may be repeated.
 */
export class AccountKeyApplier {
  readonly #deps: AccountKeyApplierDeps
  #completing: Promise<void> | undefined

  constructor(deps: AccountKeyApplierDeps) {
    this.#deps = deps
  }

  /** Applies a change until that succeeds; returns the problem of a record whose revision is stored with another content. */
  async apply(
    change: RecordKey & AccountKeyState,
    record: SourceRecord,
    signal: AbortSignal,
  ): Promise<'indexed' | 'stale' | Problem> {
    const attempt = (): Promise<Applied> => this.#apply(change, record, signal)
    const { kind } = await this.#deps.retries.untilDone('applying an account key', attempt, signal)
    if (kind === 'conflict') return sameRevision
    return kind === 'applied' ? 'indexed' : 'stale'
  }

  async #apply(change: RecordKey & AccountKeyState, record: SourceRecord, signal: AbortSignal): Promise<Applied> {
    const { teamId, entityId, revision, key } = change
    const { store, sink } = this.#deps
    for (;;) {
      const position = appendPositionOf(record)
      const applied = await store.apply(teamId, entityId, { revision, key }, position, 'when complete')
      if (applied.kind === 'incomplete') {
        await this.#untilComplete(signal)
        continue
      }
      if (applied.newest !== undefined)
        await sink.append([{ topic: record.topic, key: record.key, value: recordValueOf(applied.newest) }])
      return applied
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
}
