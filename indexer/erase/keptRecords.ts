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
  /** Set if only the value of the record has the id of the submission. */
  readonly other?: Other
}
/** `replacedAtMs`: when the next record with that key was appended (epoch ms; `never` if there is none yet). */
type Other = { readonly key: string | undefined; replacedAtMs: number }

/** How a record is known to be of the submission; undefined if it is not. */
type Known = 'by-key' | 'by-value' | undefined

/** How long (ms) a topic stores a record; `never` if there is no bound. */
export type Keeping = {
  /** From the append of the deletion with the same key until compaction has removed the record. */
  readonly compactedMs: number
  /** From the append of the record until retention has removed it. */
  readonly agedMs: number
  /** From then on until the file of the record is deleted. */
  readonly fileMs: number
}

const never = Number.POSITIVE_INFINITY
const settingNames = ['cleanup.policy', 'max.compaction.lag.ms', 'retention.ms', 'segment.ms', 'file.delete.delay.ms']

/** Rejects if Kafka does not answer. */
export async function readKeeping({ source }: Pick<CommandTools, 'source'>, topic: string): Promise<Keeping> {
  const setting = await source.topicSettings([topic], settingNames)
  const [policy = '', lagMs, retentionMs, segmentMs, fileMs] = settingNames.map((name) => setting(topic, name))
  const isAged = policy.includes('delete') && Number(retentionMs) >= 0
  return {
    // Kafka's default lag is the greatest 64-bit integer.
    compactedMs: policy.includes('compact') && Number(lagMs) <= Number.MAX_SAFE_INTEGER ? Number(lagMs) : never,
    // Retention deletes whole segments, once the last record is old enough.
    agedMs: isAged ? Number(retentionMs) + Number(segmentMs) : never,
    fileMs: Number(fileMs),
  }
}

/** Resolves with the records of a topic that `recognise` finds. Reads every partition: if partitions were added, several have records with the same key. */
export async function readKept(
  { source, report, signal }: Pick<CommandTools, 'source' | 'report' | 'signal'>,
  topic: string,
  recognise: (record: SourceRecord) => Known,
): Promise<KeptRecord[]> {
  const ranges = [...(await source.offsetRanges([topic])).values()]
  const total = ranges.reduce((sum, { low, high }) => sum + Number(high - low), 0)
  const kept: KeptRecord[] = []
  let done = 0
  /** By partition and key: records under another key, until a later record with that key. */
  const others = new Map<string, Other>()
  const onRecord = async (record: SourceRecord): Promise<void> => {
    report.progress(`records of ${topic} read`, ++done, total)
    const { partition, offset, appendedAtMs, value } = record
    const known = recognise(record)
    if (known === undefined && others.size === 0) return
    const place = `${partition} ${record.key?.toString('latin1')}`
    const replaced = others.get(place)
    if (replaced !== undefined) replaced.replacedAtMs = appendedAtMs
    others.delete(place)
    if (known === undefined) return
    const keptRecord = { topic, partition, offset, appendedAtMs, isDeletion: value === null }
    if (known === 'by-key') {
      kept.push(keptRecord)
      return
    }
    const other = { key: record.key?.toString(), replacedAtMs: never }
    others.set(place, other)
    kept.push({ ...keptRecord, other })
  }
  await source.readTopic({ topic, signal, onRecord })
  return kept
}

/** Recognises records of a submission, also those that were sent to `forms`, or under another key, by mistake. */
export const recordsOf =
  (id: DocumentId, { TOPIC_SUBMISSIONS: submissions }: Pick<Config, 'TOPIC_SUBMISSIONS'>) =>
  ({ topic, key, value }: Pick<SourceRecord, 'topic' | 'key' | 'value'>): Known => {
    const text = key?.toString()
    if (topic === submissions && text === id) return 'by-key'
    const entity = entityIdOf(id)
    // Another team's submission with the same id.
    if (text !== id && isIdentifier(text?.slice(0, -entity.length - 1) ?? '') && text?.endsWith(`/${entity}`)) return
    return isAboutSubmission(value, entity) ? 'by-value' : undefined
  }

export const lettersOf = (id: DocumentId, config: Pick<Config, 'TOPIC_SUBMISSIONS'>) => (record: SourceRecord) =>
  recordsOf(id, config)(readDeadLetter(record))

/** A place for each record of a submission, and for files that brokers may have although no consumer can read them. */
export function placesOf(records: readonly KeptRecord[], keeping: Keeping, nowMs: number): Place[] {
  const own = records.filter(({ other }) => other === undefined)
  return records.flatMap((record) => {
    if (record.other !== undefined) return [otherPlace(record, record.other, keeping)]
    return record.isDeletion ? deletionPlaces(record, own, keeping, nowMs) : [ownPlace(record, own, keeping)]
  })
}

const placeOf = (record: KeptRecord): Pick<Place, 'engine' | 'name'> & { readonly what: string } => ({
  engine: 'kafka',
  name: `${partitionName(record)}/${record.offset}`,
  what: `${record.isDeletion ? 'deletion' : 'record'} of ${toInstant(record.appendedAtMs)}`,
})

function deletionPlaces(record: KeptRecord, own: readonly KeptRecord[], keeping: Keeping, nowMs: number): Place[] {
  const { what, ...place } = placeOf(record)
  const isAlone = !own.some(({ partition, offset }) => partition === record.partition && offset < record.offset)
  const key = { ...place, state: 'key', until: null, detail: `${what}, the key alone` } as const
  return isAlone ? [key, ...replacedPlaces(record, keeping, nowMs)] : [key]
}

function ownPlace(record: KeptRecord, own: readonly KeptRecord[], keeping: Keeping): Place {
  const { what, ...place } = placeOf(record)
  const { partition, offset, appendedAtMs } = record
  const deletion = own.find((later) => later.isDeletion && later.partition === partition && later.offset > offset)
  const compactedMs = deletion === undefined ? never : deletion.appendedAtMs + keeping.compactedMs
  const untilMs = Math.min(compactedMs, appendedAtMs + keeping.agedMs)
  const until = instantAfter(untilMs, keeping)
  // Kafka does not compact its active segment. An append closes it once its first record is older than `max.compaction.lag.ms`.
  const known = untilMs === compactedMs ? 'until compaction, if its partition gets a record then' : 'until it is old'
  const unknown = deletion === undefined ? 'kept for ever: its partition has no deletion' : unbounded
  return { ...place, state: 'left', until, detail: `${what}, ${until === null ? unknown : known}` }
}

/** The place of a record under another key: removed after a later record with that key, not after the deletion of the submission. */
function otherPlace(record: KeptRecord, { key, replacedAtMs }: Other, keeping: Keeping): Place {
  const untilMs = Math.min(replacedAtMs + keeping.compactedMs, record.appendedAtMs + keeping.agedMs)
  const until = instantAfter(untilMs, keeping)
  const { what, ...place } = placeOf(record)
  const under = key === undefined ? 'no key' : `the key ${key}`
  const unknown = replacedAtMs === never ? 'until another record of that key, and its compaction' : unbounded
  const how = until === null ? unknown : 'until compaction, or until it is old'
  return { ...place, state: 'left', until, detail: `${what} under ${under}, whose value says the id, ${how}` }
}

const unbounded = 'until compaction, unknown when: no max.compaction.lag.ms'

/** The place of records before a deletion, which compaction has removed. Replicas, and files that were replaced, may still have them. */
function replacedPlaces(deletion: KeptRecord, keeping: Keeping, nowMs: number): Place[] {
  const until = instantAfter(deletion.appendedAtMs + Math.min(keeping.compactedMs, keeping.agedMs), keeping)
  if (until !== null && Date.parse(until) < nowMs) return []
  const detail = `replicas and replaced files may hold records before ${deletion.offset}`
  const named = { engine: 'kafka', name: partitionName(deletion), state: 'left', until } as const
  return [{ ...named, detail: until === null ? `${detail}, ${unbounded}` : detail }]
}

/** When the file of a record that is removed at `removedMs` (epoch ms) is deleted; null if that is `never`. */
const instantAfter = (removedMs: number, { fileMs }: Keeping): Instant | null =>
  removedMs === never ? null : toInstant(clampToInstants(removedMs + fileMs))
