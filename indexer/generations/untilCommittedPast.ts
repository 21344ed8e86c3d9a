import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandTools } from '../engineCommand.ts'
import { fetchCommittedOffsets } from '../startOffsets.ts'
import { documentTopics } from '../topics.ts'
import type { Generation } from './generation.ts'

const pollMs = 250

export type WaitLimit = {
  readonly deadlineMs: number
  /** `waitedMs`: the pauses so far. If it rejects, the wait ends. */
  readonly afterPoll: (waitedMs: number) => unknown
}

/**
 * Waits until the indexers of the serving generation have committed past every record that the rebuild may have rejected. `targets`: `partitionName` → the
 * offset below which these are. Example, with revision 5 of `a` (`a@5`), which breaks the contract:
 * 1. An indexer fetches `a@3`, the deletion `a@4` and `a@5`, and has written `a@3` so far.
 * 2. Compaction removes `a@3` and `a@4`. A rebuild reads `a@5` only, and rejects it.
 * 3. If the rebuild compared the generations now, it would copy `a@3` as live, and nobody would find the deletion later.
 *
 * Does not wait if no indexer is in the group: no write is in flight.
 */
export async function untilCommittedPast(
  { source, config, report, signal }: Pick<CommandTools, 'source' | 'config' | 'report' | 'signal'>,
  serving: Pick<Generation, 'number' | 'tag'>,
  targets: ReadonlyMap<string, bigint>,
  { deadlineMs, afterPoll }: WaitLimit,
): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const committed = await fetchCommittedOffsets(source, config.CONSUMER_GROUP, documentTopics(config))
    const uncommitted = [...targets].find(([name, offset]) => {
      const commit = committed.get(name)
      return offset > (commit?.generation === serving.tag ? commit.position : 0n)
    })
    if (uncommitted === undefined || (await source.groupMembers(config.CONSUMER_GROUP)).length === 0) return
    const [name, offset] = uncommitted
    const reason = `indexers have not committed ${name} up to ${offset} for generation ${serving.number} yet`
    if (waitedMs === 0) report.step(`waiting: ${reason}`)
    if (waitedMs >= deadlineMs) throw new Error(`${reason}: run the rebuild again`)
    await afterPoll(waitedMs)
    await sleep(pollMs, undefined, { signal })
  }
}
