import type { Config } from '../../src/core/process/config.ts'
import type { BlockedReasons } from '../pipeline.ts'
import type { VisiblePosition } from '../publisher.ts'
import type { TopicRules } from '../topics.ts'
import type { Generation } from './generations.ts'

/** What a rebuild says to a process that reads for it, in this order; the messages between the first and the last may come again. */
export type ToWorker =
  | {
      readonly kind: 'start'
      readonly config: Config
      readonly generation: Generation
      readonly keptMs: TopicRules['keptMs']
    }
  /** From now on no record gets a `changedAt` below `watermarkMs`. It is answered. */
  | { readonly kind: 'start-changes'; readonly watermarkMs: number }
  /** Make searchable what was processed so far. */
  | { readonly kind: 'publish' }
  /** Publish what is in flight, leave the group, and end. */
  | { readonly kind: 'stop' }

/** How far the partitions of a process are searchable, and why it makes no progress. */
export type WorkerProgress = { readonly positions: readonly VisiblePosition[]; readonly blockedReasons: BlockedReasons }

/** What such a process says. */
export type FromWorker =
  | ({ readonly kind: 'progress' } & WorkerProgress)
  | { readonly kind: 'changes-started' }
  /** It cannot go on, and neither can the rebuild. */
  | { readonly kind: 'failed'; readonly reason: string }

/** A process that reads for a rebuild, as the rebuild sees it. */
export type WorkerProcess = {
  readonly name: string
  send(message: ToWorker): void
  onMessage(take: (message: FromWorker) => void): void
  kill(): void
  /** Resolves with how it ended. */
  readonly ended: Promise<string>
}
