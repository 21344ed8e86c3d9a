import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kafka } from 'kafkajs'
import type { Logger } from 'pino'
import type { AccountKey } from '../src/domain/accountKey.ts'
import { type Change, readAccountKeyRecord } from '../src/domain/record.ts'
import type { Applied, KeyView } from '../src/replica/keyView.ts'
import { readTopic } from './readTopic.ts'
import type { SourceRecord } from './sourceRecord.ts'

const checkIntervalMs = 1_000

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

/** Reads the topic from its beginning to its present end, and marks the view complete. */
async function fold({ kafka, topic, view, signal }: Parameters<typeof keepKeyView>[0]): Promise<number> {
  const token = randomUUID()
  const { complete } = await view.beginFold(token)
  let count = 0
  const onRecord = async ({ key, value }: SourceRecord): Promise<void> => {
    const read = readAccountKeyRecord(key, value)
    if (read.ok) await applyKeyChange(view, read.value)
    count++
  }
  await readTopic({ kafka, topic, groupId: `tidemark-key-fold-${token}`, signal, onRecord })
  if (!(await complete())) throw new Error('Redis lost keys while they were folded')
  return count
}
