import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandTools } from '../engineCommand.ts'
import { fetchCommittedOffsets } from '../startOffsets.ts'
import { documentTopics } from '../topics.ts'
import type { Generation } from './generation.ts'

const pollMs = 250

/**
 * Waits until the indexers of the serving generation have committed up to the offsets `wanted` (by `partitionName`), below which a rebuild has met
 * records that it could not use. Example: `a@5` is such a record, and compaction has removed the state `a@3` and the deletion `a@4`, both of which
 * an indexer has still read. While it has not written the deletion, a comparison would copy `a@3` as live, and whoever reads the log later never
 * finds the deletion.
 *
 * Where no indexer is in the group, nothing is on its way to the serving generation. Rejects after `deadlineMs`, and when `afterPoll` does, which is called
 * several times a second with the time waited so far (ms).
 */
export async function untilCommittedPast(
  { source, config, report, signal }: Pick<CommandTools, 'source' | 'config' | 'report' | 'signal'>,
  serving: Pick<Generation, 'number' | 'tag'>,
  wanted: ReadonlyMap<string, bigint>,
  { deadlineMs, afterPoll }: { readonly deadlineMs: number; readonly afterPoll: (waitedMs: number) => unknown },
): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const committed = await fetchCommittedOffsets(source, config.CONSUMER_GROUP, documentTopics(config))
    const behind = [...wanted].find(([name, below]) => {
      const commit = committed.get(name)
      return below > (commit?.generation === serving.tag ? commit.position : 0n)
    })
    if (behind === undefined || (await source.groupMembers(config.CONSUMER_GROUP)).length === 0) return
    const reason = `indexers have not committed ${behind[0]} up to ${behind[1]} for generation ${serving.number} yet`
    if (waitedMs === 0) report.step(`waiting: ${reason}`)
    if (waitedMs >= deadlineMs) throw new Error(`${reason}: run the rebuild again`)
    await afterPoll(waitedMs)
    await sleep(pollMs, undefined, { signal })
  }
}
