import type { Admin } from 'kafkajs'
import { pause, waitUntil } from '../engines/waiting.ts'
import { namesOf, type Topics } from './feed.ts'

const pollMs = 100
const topicsDeadlineMs = 60_000
const stallDeadlineMs = 60_000

/** Rejects after a minute, or with the signal's reason. */
export async function untilTopicsExist(admin: Admin, topics: Topics, signal: AbortSignal): Promise<void> {
  const allExist = async (): Promise<boolean> => {
    const existing = await admin.listTopics().catch((): string[] => [])
    return namesOf(topics).every((name) => existing.includes(name))
  }
  if (await waitUntil(allExist, { deadlineMs: topicsDeadlineMs, signal })) return
  throw new Error(`The indexer created no topics within ${topicsDeadlineMs / 1_000} s`)
}

/**
 * Resolves when every record of the topics is searchable, as the commits of the indexer show. `report` gets the number of searchable records. Rejects
 * after a minute without progress, or with the signal's reason.
 */
export async function untilIndexed(
  admin: Admin,
  from: { topics: Topics; groupId: string; signal: AbortSignal; report: (indexed: number, produced: number) => void },
): Promise<void> {
  let indexedBefore = -1
  let end = performance.now() + stallDeadlineMs
  for (;;) {
    // While the coordinator of the group moves, Kafka refuses some requests. That counts as no progress.
    const progress = await positions(admin, from.topics, from.groupId).catch((error: Error) => error)
    if (!(progress instanceof Error)) {
      from.report(progress.indexed, progress.produced)
      if (progress.indexed >= progress.produced) return
      if (progress.indexed > indexedBefore) end = performance.now() + stallDeadlineMs
      indexedBefore = progress.indexed
    }
    if (performance.now() > end) {
      const state =
        progress instanceof Error ? progress.message : `it stands at ${progress.indexed} of ${progress.produced}`
      throw new Error(`The indexer has made no progress for ${stallDeadlineMs / 1_000} s: ${state}`)
    }
    await pause(pollMs, from.signal)
  }
}

async function positions(
  admin: Admin,
  topics: Topics,
  groupId: string,
): Promise<{ indexed: number; produced: number }> {
  const committed = new Map<string, number>()
  for (const { topic, partitions } of await admin.fetchOffsets({ groupId, topics: namesOf(topics) }))
    for (const { partition, offset } of partitions) committed.set(`${topic}/${partition}`, Math.max(Number(offset), 0))
  let indexed = 0
  let produced = 0
  for (const topic of namesOf(topics))
    for (const { partition, high } of await admin.fetchTopicOffsets(topic)) {
      indexed += Math.min(committed.get(`${topic}/${partition}`) ?? 0, Number(high))
      produced += Number(high)
    }
  return { indexed, produced }
}
