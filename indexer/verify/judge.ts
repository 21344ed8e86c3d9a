import { deletedRevision } from '../../src/core/model/ids.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import type { DocumentKind } from '../../src/core/stores/indices.ts'
import type { DifferenceKind } from './difference.ts'
import { type DocumentEntry, deadLetterVersion, placeOf, type RecordEntry } from './entries.ts'

/** What is wrong with a document. */
export type Problem = {
  readonly problem: 'missing' | 'unexpected' | 'older' | 'newer' | 'content' | 'time'
  readonly detail: string
}

/**
 * Judges one document of an entity by its records: those with the highest committed revision, and everything that was appended after the
 * commits. An index may be ahead of the commits, and in any state between.
 */
export function judge(
  kind: DocumentKind,
  document: DocumentEntry | undefined,
  records: readonly RecordEntry[],
): Problem | undefined {
  const required = Math.max(0, ...records.filter(({ isCommitted }) => isCommitted).map(({ version }) => version))
  if (document === undefined)
    return required === 0 ? undefined : { problem: 'missing', detail: `${revision(required)} in the topic` }
  const { version, content } = document
  const newest = Math.max(0, ...records.map((record) => record.version))
  if (version > newest && records.some(isDeadLetter)) return undefined
  if (newest === 0) {
    // Kafka forgets a tombstone after its retention, the index never does.
    if (content.isTombstone) return undefined
    return { problem: 'unexpected', detail: `${revision(version)} in the index, no record in the topic` }
  }
  const versions = `${revision(version)} in the index, ${revision(newest)} in the topic`
  if (version < required) return { problem: 'older', detail: versions }
  if (version > newest) return { problem: 'newer', detail: versions }
  const same = records.filter((record) => record.version === version)
  // The record between has been compacted since it was indexed.
  if (same.length === 0) return undefined
  const { part } = placeOf[kind]
  // Of two contents under one revision the first one counts; the later one is a dead letter.
  const expected = same.reduce((one, other) => (other.offset < one.offset ? other : one)).digests[part]
  if (content.digest !== expected)
    return { problem: 'content', detail: `${revision(version)} has other bytes than its record` }
  const equal = same.filter(({ digests }) => digests[part] === expected)
  const leastMs = Math.min(...equal.map((record) => record.changedAtLeastMs))
  const { changedAtMs } = content
  if (changedAtMs === null || changedAtMs >= leastMs) return undefined
  return {
    problem: 'time',
    detail: `${toInstant(changedAtMs)}, before ${toInstant(leastMs)}, when its record was appended`,
  }
}

export const differenceKindOf = (kind: DocumentKind, { problem }: Problem): DifferenceKind =>
  placeOf[kind].part === 'list' ? problem : `${problem}-detail`

/** The records of an entity by which its documents are judged: without those that are older than a committed one, and one dead letter. */
export function relevantOf(records: readonly RecordEntry[]): RecordEntry[] {
  const required = Math.max(0, ...records.filter(({ isCommitted }) => isCommitted).map(({ version }) => version))
  const deadLetter = records.findLast(isDeadLetter)
  const others = records.filter((record) => record.version >= required && !isDeadLetter(record))
  return deadLetter === undefined ? others : [...others, deadLetter]
}

const isDeadLetter = ({ version }: RecordEntry): boolean => version === deadLetterVersion

const revision = (version: number): string => (version === deletedRevision ? 'a deletion' : `revision ${version}`)
