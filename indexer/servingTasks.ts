import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import type { AccountKeyState } from '../src/core/model/accountKey.ts'
import type { RecordKey } from '../src/core/model/record.ts'
import type { Problem } from '../src/core/model/result.ts'
import type { StartOffset } from './committedOffsets.ts'
import type { PendingMarks } from './pendingWrites.ts'
import type { PublisherRedis } from './publisher.ts'

/** What a pipeline does besides writing documents when readers see its generation. */
export type ServingTasks = PublisherRedis &
  PendingMarks & {
    /** The group of rebuilds: its committed offsets count where they name this generation. */
    readonly rebuildGroupId: string
    /** Handles an invalid record; the record is processed once it resolves. */
    rejectRecord(
      record: SourceRecord,
      problem: Problem,
      start: StartOffset,
      signal: AbortSignal,
    ): Promise<'dead-letter' | 'stale'>
    /** Applies a change of an account key, or returns why its record is invalid. */
    applyAccountKey(
      change: RecordKey & AccountKeyState,
      record: SourceRecord,
      signal: AbortSignal,
    ): Promise<'indexed' | 'stale' | Problem>
    /** Called for every record that was not rejected. */
    recordAccepted(record: SourceRecord): void
  }
