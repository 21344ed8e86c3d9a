import { setTimeout as sleep } from 'node:timers/promises'
import type { Message } from 'kafkajs'
import type { AccountKey } from '../../src/core/model/accountKey.ts'
import type { Change } from '../../src/core/model/change.ts'
import { claimMessage, deletedMessages, newestMessage } from '../../src/core/stores/accountKeyMemory.ts'
import {
  type AccountKeyStore,
  type AppendPosition,
  type Applied,
  type ApplyRecordResult,
  appendPositionOf,
  type DisplacedKey,
  type StoredKey,
} from '../../src/core/stores/accountKeyStore.ts'
import type { SourceRecord } from '../sourceRecord.ts'

const completeCheckMs = 200

export type KeyChangesOptions = {
  readonly view: AccountKeyStore
  /** Writes to the key memory; resolves once every replica has it. */
  remember(messages: Message[]): Promise<void>
  /** Sets the record at a place of the keys' topic aside, if it is still there. */
  writeDeadLetter(place: AppendPosition, signal: AbortSignal): Promise<void>
}

/** The key as the view holds it, or null when it is gone for good. */
export const storedKey = ({ live }: Change<AccountKey>): StoredKey | null =>
  live === null ? null : { ...live.entity, revision: live.revision }

/**
 * Applies the records of account keys as the indexer consumes them: each to a complete view, since only that one knows which key
 * was first. What compaction could take is in the key memory before a record is settled. All of it may be done again.
 */
export function keyChanges({ view, remember, writeDeadLetter }: KeyChangesOptions) {
  let completing: Promise<void> | undefined
  /** All records that wait share one question. */
  const untilComplete = (signal: AbortSignal): Promise<void> => {
    const poll = async (): Promise<void> => {
      while (!(await view.isComplete())) await sleep(completeCheckMs, undefined, { signal })
    }
    completing ??= poll().finally(() => {
      completing = undefined
    })
    return completing
  }

  return async (change: Change<AccountKey>, record: SourceRecord, signal: AbortSignal): Promise<Applied> => {
    const { teamId, entityId } = change
    const [stored, place] = [storedKey(change), appendPositionOf(record)]
    let mayDisplace: DisplacedKey | undefined
    for (;;) {
      const verdict = await view.applyRecord(teamId, entityId, stored, place, mayDisplace)
      switch (verdict.kind) {
        case 'incomplete':
          await untilComplete(signal)
          break
        case 'displaces':
          // Before the digest is taken from it: whoever does this again after a crash finds it once more.
          if (verdict.at !== undefined) await writeDeadLetter(verdict.at, signal)
          mayDisplace = verdict.holder
          break
        case 'applied':
        case 'stale':
        case 'digest-held': {
          const messages = worthRemembering(change, verdict)
          if (messages.length > 0) await remember(messages)
          return verdict.kind
        }
      }
    }
  }
}

function worthRemembering(
  { teamId, entityId }: Change<AccountKey>,
  { isDeleted, contested, newest }: Extract<ApplyRecordResult, { kind: Applied }>,
): Message[] {
  // Also one that Redis alone knows to be deleted: its creation failed, or whoever deleted it died.
  if (isDeleted) return deletedMessages(teamId, entityId)
  const messages = contested.map(claimMessage)
  return newest === undefined ? messages : [...messages, newestMessage(teamId, entityId, newest)]
}
