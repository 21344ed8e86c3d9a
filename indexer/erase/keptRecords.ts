import { partitionName, type SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import type { DocumentId } from '../../src/core/model/ids.ts'
import { clampToInstants, type Instant, toInstant } from '../../src/core/model/instant.ts'
import { readDeadLetter } from '../deadLetters/deadLetters.ts'
import type { CommandTools } from '../engineCommand.ts'
import type { Place } from './expunge.ts'

/** A record that Kafka still holds of a submission. */
export type KeptRecord = Pick<SourceRecord, 'topic' | 'partition' | 'offset' | 'appendedAtMs'> & {
  readonly isDeletion: boolean
}

/** After what time a topic no longer has a record, at the latest: after the deletion, after the record, and its file after that. */
export type Keeping = { readonly compactedMs: number; readonly agedMs: number; readonly fileMs: number }

const never = Number.POSITIVE_INFINITY
const settingNames = ['cleanup.policy', 'max.compaction.lag.ms', 'retention.ms', 'segment.ms', 'file.delete.delay.ms']

/** Reads how long a topic keeps records. Rejects if Kafka does not tell. */
export async function readKeeping({ source }: Pick<CommandTools, 'source'>, topic: string): Promise<Keeping> {
  const setting = await source.topicSettings([topic], settingNames)
  const [policy = '', lagMs, retentionMs, segmentMs, fileMs] = settingNames.map((name) => setting(topic, name))
  const isAged = policy.includes('delete') && Number(retentionMs) >= 0
  return {
    // Kafka's default lag is the greatest 64-bit integer.
    compactedMs: policy.includes('compact') && Number(lagMs) <= Number.MAX_SAFE_INTEGER ? Number(lagMs) : never,
    // A segment goes as a whole, once its last record is old.
    agedMs: isAged ? Number(retentionMs) + Number(segmentMs) : never,
    fileMs: Number(fileMs),
  }
}

/** Reads every partition of a topic: since partitions were added, records of one key may be in several. */
export async function readKept(
  { source, report, signal }: Pick<CommandTools, 'source' | 'report' | 'signal'>,
  topic: string,
  isOfSubmission: (record: SourceRecord) => boolean,
): Promise<KeptRecord[]> {
  const ranges = [...(await source.offsetRanges([topic])).values()]
  const total = ranges.reduce((sum, { low, high }) => sum + Number(high - low), 0)
  const kept: KeptRecord[] = []
  let done = 0
  const onRecord = async (record: SourceRecord): Promise<void> => {
    report.progress(`records of ${topic} read`, ++done, total)
    const { partition, offset, appendedAtMs, value } = record
    if (isOfSubmission(record)) kept.push({ topic, partition, offset, appendedAtMs, isDeletion: value === null })
  }
  await source.readTopic({ topic, signal, onRecord })
  return kept
}

/** Whether a dead letter is a rejected record of a submission. */
export const isLetterOf = (id: DocumentId, topic: string) => (record: SourceRecord) => {
  const letter = readDeadLetter(record)
  return letter.topic === topic && letter.key?.toString() === id
}

/** What is said of each record that one topic holds of a submission, and of what brokers may hold though no consumer is given it. */
export const placesOf = (records: readonly KeptRecord[], keeping: Keeping, nowMs: number): Place[] =>
  records.flatMap((record) => {
    const { partition, offset, appendedAtMs, isDeletion } = record
    const place = { engine: 'kafka', name: `${partitionName(record)}/${offset}` } as const
    const what = `${isDeletion ? 'deletion' : 'record'} of ${toInstant(appendedAtMs)}`
    if (isDeletion) {
      const isAlone = !records.some((each) => each.partition === partition && each.offset < offset)
      const key = { ...place, state: 'key', until: null, detail: `${what}, the key alone` } as const
      return isAlone ? [key, ...replacedPlaces(record, keeping, nowMs)] : [key]
    }
    const deletion = records.find((each) => each.isDeletion && each.partition === partition && each.offset > offset)
    const compactedMs = deletion === undefined ? never : deletion.appendedAtMs + keeping.compactedMs
    const untilMs = Math.min(compactedMs, appendedAtMs + keeping.agedMs)
    const until = instantAfter(untilMs, keeping)
    // Kafka does not compact the segment that it writes; an append closes it once its first record is as old as the lag.
    const known = untilMs === compactedMs ? 'until compaction, if its partition gets a record then' : 'until it is old'
    const unknown = deletion === undefined ? 'kept for ever: its partition has no deletion' : unbounded
    return [{ ...place, state: 'left', until, detail: `${what}, ${until === null ? unknown : known}` }]
  })

const unbounded = 'until compaction, unknown when: no max.compaction.lag.ms'

/** What is said of the records before a deletion that its leader has compacted: each replica is compacted by itself, and its old files stay a while. */
function replacedPlaces(deletion: KeptRecord, keeping: Keeping, nowMs: number): Place[] {
  const until = instantAfter(deletion.appendedAtMs + Math.min(keeping.compactedMs, keeping.agedMs), keeping)
  if (until !== null && Date.parse(until) < nowMs) return []
  const detail = `replicas and replaced files may hold records before ${deletion.offset}`
  const named = { engine: 'kafka', name: partitionName(deletion), state: 'left', until } as const
  return [{ ...named, detail: until === null ? `${detail}, ${unbounded}` : detail }]
}

/** When the last file is gone of what Kafka removes then; null where it never does. */
const instantAfter = (removedMs: number, { fileMs }: Keeping): Instant | null =>
  removedMs === never ? null : toInstant(clampToInstants(removedMs + fileMs))
