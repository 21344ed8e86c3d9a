import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import { readAccountKeyRecord } from '../../src/core/model/record.ts'
import type { Config } from '../../src/core/process/config.ts'
import { summaryOf } from '../../src/core/process/log.ts'
import { type AccountKeyStore, appendPositionOf, type ContestedDigest } from '../../src/core/stores/accountKeyStore.ts'

const checkIntervalMs = 1_000
const maxContested = 100

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
  #contested: readonly ContestedDigest[] = []

  constructor(deps: AccountKeyReplayDeps) {
    this.#deps = deps
  }

  /** Why the store could not be checked or replayed; undefined once it could. */
  blockedReason(): string | undefined {
    return this.#blockedReason
  }

  /** Digests that several live keys claim, as of the last check; a hundred at most. */
  contested(): readonly ContestedDigest[] {
    return this.#contested
  }

  /** Checks the store once a second, until the signal aborts. */
  async run(): Promise<void> {
    const { store, log, signal } = this.#deps
    while (!signal.aborted) {
      try {
        if (!(await store.isComplete())) {
          const count = await this.#replay()
          log.info({ records: count }, 'account-key replay completed')
        }
        this.#contested = await store.contested(maxContested)
        this.#blockedReason = undefined
      } catch (error) {
        this.#blockedReason = summaryOf(error)
        if (!signal.aborted) log.warn({ err: error }, 'account-key replay failed; trying again')
      }
      await sleep(checkIntervalMs, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Reads the topic to its present end, and marks the store complete. Returns the number of records. */
  async #replay(): Promise<number> {
    const { config, source, store, signal } = this.#deps
    const token = randomUUID()
    const { complete } = await store.beginReplay(token)
    let count = 0
    await source.readTopic({
      topic: config.TOPIC_ACCOUNT_KEYS,
      signal,
      onRecord: async (record) => {
        count++
        const read = readAccountKeyRecord(record.key, record.value)
        if (!read.ok) return
        const { teamId, entityId, revision, key } = read.value
        await store.apply(teamId, entityId, { revision, key }, appendPositionOf(record))
      },
    })
    if (!(await complete())) throw new Error('Redis lost account keys during the replay')
    return count
  }
}
