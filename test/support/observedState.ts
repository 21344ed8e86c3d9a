import type { Observed } from '../../indexer/status/observe.ts'
import type { OwnState } from '../../indexer/status/ownState.ts'
import type { WatchedGroup, WatchedPartition } from '../../indexer/status/progressWatch.ts'

/** A partition, by `partitionName`, that indexer `a` owns and has read to its end. */
export function watched(name: string, members: Partial<WatchedPartition> = {}): WatchedPartition {
  const [topic = '', partition] = name.split('/')
  return {
    ...{ topic, partition: Number(partition), position: 120n, behindRecords: 0, owner: 'a' },
    ...{ coveredUntilMs: undefined, isReplaced: false, mayLackDeletions: false },
    ...{ committedAtMs: undefined, standsSinceMs: undefined },
    ...members,
  }
}

export const watchedGroup = (members: Partial<WatchedGroup> = {}): WatchedGroup => ({
  ...{ partitions: [], indexers: [{ id: 'a', host: '10.0.0.4' }], deadLetters: 0, rebuild: undefined },
  ...{ processedPerSecond: undefined, appendedPerSecond: undefined },
  ...members,
})

/** Nothing is known yet. */
export const observedState = (members: Partial<Observed> = {}): Observed => ({
  ...{ group: undefined, rebuild: undefined, watermarkMs: undefined, visibleMs: () => undefined },
  ...{ redisMemory: undefined, indices: undefined },
  ...members,
})

/** An indexer without any partition. */
export const ownState = (members: Partial<OwnState> = {}): OwnState => ({
  ...{ maxInFlightBytes: 100, inFlightBytes: 0, watermarkMs: undefined, clockOffsetMs: undefined, obstacles: [] },
  ...{ partitions: [], pausedTopics: [], hasAppendTimes: true, generation: undefined },
  ...members,
})
