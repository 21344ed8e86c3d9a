import type { Config } from '../../src/core/config/config.ts'
import { partitionName, type SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { type DocumentId, entityIdOf, isIdentifier } from '../../src/core/model/ids.ts'
import { clampToInstants, type Instant, toInstant } from '../../src/core/model/instant.ts'
import { readDeadLetter } from '../deadLetters/deadLetters.ts'
import type { CommandTools } from '../engineCommand.ts'
import type { Place } from './expunge.ts'
import { isAboutSubmission } from './isAboutSubmission.ts'

export type KeptRecord = Pick<SourceRecord, 'topic' | 'partition' | 'offset' | 'appendedAtMs'> & {
  readonly isDeletion: boolean
  /** Set if the record was recognised by its value, and has another key than the submission. */
  readonly otherKey?: OtherKey
}
/** `replacedAtMs`: when the next record with this key was appended (epoch ms), or `never`. */
type OtherKey = { readonly key: string | undefined; replacedAtMs: number }

type RecognisedBy = 'by-key' | 'by-value' | undefined

/** How long (ms) Kafka stores a record; `never` if there is no bound. */
export type Retention = {
  /** From the append of a deletion until compaction has removed earlier records with its key. */
  readonly compactedMs: number
  /** From the append of the record until `retention.ms` has removed it. */
  readonly agedMs: number
  /** From the removal of the record until its file is deleted. */
  readonly fileMs: number
}

const never = Number.POSITIVE_INFINITY
const settingNames = ['cleanup.policy', 'max.compaction.lag.ms', 'retention.ms', 'segment.ms', 'file.delete.delay.ms']

export async function readRetention({ source }: Pick<CommandTools, 'source'>, topic: string): Promise<Retention> {
  const setting = await source.topicSettings([topic], settingNames)
  const [policy = '', lagMs, retentionMs, segmentMs, fileMs] = settingNames.map((name) => setting(topic, name))
  // The default is the greatest 64-bit integer: no bound.
  const isCompacted = policy.includes('compact') && Number(lagMs) <= Number.MAX_SAFE_INTEGER
  // -1: no bound.
  const isAged = policy.includes('delete') && Number(retentionMs) >= 0
  return {
    compactedMs: isCompacted ? Number(lagMs) : never,
    // Retention deletes a whole segment once its last record, up to `segment.ms` younger than the first one, is old enough.
    agedMs: isAged ? Number(retentionMs) + Number(segmentMs) : never,
    fileMs: Number(fileMs),
  }
}

/** Resolves with the records that `recognise` finds in all partitions: after an operator has added partitions, several contain the same key. */
export async function readKept(
  { source, report, signal }: Pick<CommandTools, 'source' | 'report' | 'signal'>,
  topic: string,
  recognise: (record: SourceRecord) => RecognisedBy,
): Promise<KeptRecord[]> {
  const ranges = [...(await source.offsetRanges([topic])).values()]
  const total = ranges.reduce((sum, { low, high }) => sum + Number(high - low), 0)
  const kept: KeptRecord[] = []
  let recordsRead = 0
  /** Partition and key → the `otherKey` of the latest `by-value` record, until a later record replaces that record. */
  const unreplaced = new Map<string, OtherKey>()
  const onRecord = async (record: SourceRecord): Promise<void> => {
    report.progress(`records of ${topic} read`, ++recordsRead, total)
    const { partition, offset, appendedAtMs, value } = record
    const recognisedBy = recognise(record)
    if (recognisedBy === undefined && unreplaced.size === 0) return
    const partitionAndKey = `${partition} ${record.key?.toString('latin1')}`
    const replaced = unreplaced.get(partitionAndKey)
    if (replaced !== undefined) replaced.replacedAtMs = appendedAtMs
    unreplaced.delete(partitionAndKey)
    if (recognisedBy === undefined) return
    const keptRecord = { topic, partition, offset, appendedAtMs, isDeletion: value === null }
    if (recognisedBy === 'by-key') {
      kept.push(keptRecord)
      return
    }
    const otherKey = { key: record.key?.toString(), replacedAtMs: never }
    unreplaced.set(partitionAndKey, otherKey)
    kept.push({ ...keptRecord, otherKey })
  }
  await source.readTopic({ topic, signal, onRecord })
  return kept
}

/** Recognises the records of a submission, even if the product has sent them to `forms`, or under another key, by mistake. */
export const recordsOf =
  (id: DocumentId, { TOPIC_SUBMISSIONS: submissions }: Pick<Config, 'TOPIC_SUBMISSIONS'>) =>
  ({ topic, key, value }: Pick<SourceRecord, 'topic' | 'key' | 'value'>): RecognisedBy => {
    const keyText = key?.toString() ?? ''
    if (topic === submissions && keyText === id) return 'by-key'
    const entity = entityIdOf(id)
    const isOfOtherTeam =
      keyText !== id && keyText.endsWith(`/${entity}`) && isIdentifier(keyText.slice(0, -entity.length - 1))
    if (isOfOtherTeam) return undefined
    return isAboutSubmission(value, entity) ? 'by-value' : undefined
  }

/** By the topic, key and value of the rejected record. */
export const lettersOf = (id: DocumentId, config: Pick<Config, 'TOPIC_SUBMISSIONS'>) => (record: SourceRecord) =>
  recordsOf(id, config)(readDeadLetter(record))

/** Earlier records that compaction has removed have a place, too: brokers may still have their files. */
export function placesOf(records: readonly KeptRecord[], retention: Retention, nowMs: number): Place[] {
  const ownRecords = records.filter(({ otherKey }) => otherKey === undefined)
  return records.flatMap((record) => {
    if (record.otherKey !== undefined) return [otherPlace(record, record.otherKey, retention)]
    return record.isDeletion
      ? deletionPlaces(record, ownRecords, retention, nowMs)
      : [ownPlace(record, ownRecords, retention)]
  })
}

const describePlace = (record: KeptRecord): Pick<Place, 'engine' | 'name'> & { readonly description: string } => ({
  engine: 'kafka',
  name: `${partitionName(record)}/${record.offset}`,
  description: `${record.isDeletion ? 'deletion' : 'record'} of ${toInstant(record.appendedAtMs)}`,
})

/** A deletion has only the key. If Kafka has no earlier record in its partition, the compacted records have a place, too. */
function deletionPlaces(
  record: KeptRecord,
  ownRecords: readonly KeptRecord[],
  retention: Retention,
  nowMs: number,
): Place[] {
  const { description, ...place } = describePlace(record)
  const hasEarlier = ownRecords.some(
    ({ partition, offset }) => partition === record.partition && offset < record.offset,
  )
  const keyPlace = { ...place, state: 'key', until: null, detail: `${description}, the key alone` } as const
  return hasEarlier ? [keyPlace] : [keyPlace, ...compactedPlaces(record, retention, nowMs)]
}

function ownPlace(record: KeptRecord, ownRecords: readonly KeptRecord[], retention: Retention): Place {
  const { description, ...place } = describePlace(record)
  const { partition, offset, appendedAtMs } = record
  const deletion = ownRecords.find(
    (later) => later.isDeletion && later.partition === partition && later.offset > offset,
  )
  const compactedMs = deletion === undefined ? never : deletion.appendedAtMs + retention.compactedMs
  const untilMs = Math.min(compactedMs, appendedAtMs + retention.agedMs)
  const until = instantAfter(untilMs, retention)
  // Kafka compacts a segment once an append has closed it, when its first record is older than `max.compaction.lag.ms`.
  const bounded = untilMs === compactedMs ? 'until compaction, if its partition gets a record then' : untilRetention
  const unbounded = deletion === undefined ? 'kept for ever: its partition has no deletion, and no retention' : noBound
  const howLong = until === null ? unbounded : bounded
  return { ...place, state: 'left', until, detail: `${description}, ${howLong}` }
}

/** Compaction removes the record after a later record with that other key, not after the submission's deletion. */
function otherPlace(record: KeptRecord, { key, replacedAtMs }: OtherKey, retention: Retention): Place {
  const untilMs = Math.min(replacedAtMs + retention.compactedMs, record.appendedAtMs + retention.agedMs)
  const until = instantAfter(untilMs, retention)
  const { description, ...place } = describePlace(record)
  const under = key === undefined ? 'no key' : `the key ${key}`
  const unbounded =
    replacedAtMs === never ? 'until another record of that key, and its compaction, if the topic is compacted' : noBound
  const howLong = until === null ? unbounded : `until compaction, or ${untilRetention}`
  return {
    ...place,
    state: 'left',
    until,
    detail: `${description} under ${under}, whose value contains the id, ${howLong}`,
  }
}

const untilRetention = 'until retention removes it'
const noBound = 'unknown until when: neither retention nor max.compaction.lag.ms bounds it'

/** The leader has compacted the records before the deletion; replicas and old segment files may have them until their time is over. */
function compactedPlaces(deletion: KeptRecord, retention: Retention, nowMs: number): Place[] {
  const until = instantAfter(deletion.appendedAtMs + Math.min(retention.compactedMs, retention.agedMs), retention)
  if (until !== null && Date.parse(until) < nowMs) return []
  const detail = `replicas and old segment files may have records before ${deletion.offset}`
  const place = { engine: 'kafka', name: partitionName(deletion), state: 'left', until } as const
  return [{ ...place, detail: until === null ? `${detail}, ${noBound}` : detail }]
}

/** When Kafka has deleted the file of a record that is removed at `removedMs`; null for `never`. */
const instantAfter = (removedMs: number, { fileMs }: Retention): Instant | null =>
  removedMs === never ? null : toInstant(clampToInstants(removedMs + fileMs))
