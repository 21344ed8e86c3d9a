import type { DocumentId } from '../../src/core/model/ids.ts'
import { type DocumentKind, documentKinds } from '../../src/core/stores/indices.ts'
import { readDeadLetter } from '../deadLetters/deadLetters.ts'
import { type Commits, type CommittedPartition, withPresentEnds } from './commits.ts'
import type { Suspect } from './compareDocuments.ts'
import { type DocumentEntry, deadLetterVersion, placeOf, type RecordEntry } from './entries.ts'
import { judge } from './judge.ts'
import type { Pace } from './pace.ts'
import { type RecordReader, verifyGroup } from './readRecords.ts'
import { readDocuments } from './scanIndex.ts'
import type { VerifyOptions } from './verifyOptions.ts'

const suspectsAtOnce = 500
/** More are not kept in memory to be compared with records that were appended after the comparison had begun. */
const maxUnexplained = 10_000

/** A suspect, and its document as it was read last. */
type Unexplained = { readonly suspect: Suspect; readonly document: DocumentEntry | undefined }

/**
 * Looks at suspects again, in the live system: a document that was under way is no difference. One above its records is compared with
 * those that were appended while everything was read; one below them is no difference if Elasticsearch has rejected the record, nor is one
 * of another content if the record's content has come too late for its revision.
 */
export class Inspection {
  readonly #options: VerifyOptions
  readonly #commits: Commits
  readonly #reader: RecordReader
  readonly #pace: Pace
  readonly #onDifference: (suspect: Suspect) => void
  readonly #unexplained: Unexplained[] = []

  constructor(
    options: VerifyOptions,
    commits: Commits,
    reader: RecordReader,
    pace: Pace,
    onDifference: (suspect: Suspect) => void,
  ) {
    this.#options = options
    this.#commits = commits
    this.#reader = reader
    this.#pace = pace
    this.#onDifference = onDifference
  }

  /** Reads the suspects' documents once more, and judges them again. */
  async inspect(suspects: readonly Suspect[]): Promise<void> {
    for (const kind of documentKinds) {
      const ofKind = suspects.filter((suspect) => suspect.kind === kind)
      for (let at = 0; at < ofKind.length; at += suspectsAtOnce)
        await this.#inspectSome(kind, ofKind.slice(at, at + suspectsAtOnce))
    }
  }

  async #inspectSome(kind: DocumentKind, suspects: readonly Suspect[]): Promise<void> {
    const ids = suspects.map(({ id }) => id)
    const found = new Map<DocumentId, DocumentEntry>()
    for (const each of await readDocuments(this.#options, kind, this.#commits.generation.indices[kind], ids))
      found.set(each.id, each)
    for (const suspect of suspects) {
      const document = found.get(suspect.id)
      const problem = judge(kind, document, suspect.records)
      // Nobody deletes documents: one that a look-up by its team does not find lies in the shard of another team.
      if (document === undefined && suspect.problem === 'unexpected') this.#onDifference(suspect)
      if (problem === undefined) continue
      const now = { ...suspect, ...problem }
      if (isExplicable(now) && this.#unexplained.length < maxUnexplained)
        this.#unexplained.push({ suspect: now, document })
      else this.#onDifference(now)
    }
    await this.#pace.rest()
  }

  /**
   * Judges again what may have an explanation: by the records that were appended since `partitions` was noted, and by the dead
   * letters. Then everything is reported.
   */
  async explain(partitions: readonly CommittedPartition[]): Promise<void> {
    const above = this.#unexplained.filter(({ suspect }) => isAboveRecords(suspect))
    const others = this.#unexplained.filter(({ suspect }) => !isAboveRecords(suspect))
    this.#unexplained.length = 0
    if (above.length > 0) await this.#explainByLaterRecords(above, partitions)
    if (others.length > 0) await this.#explainByDeadLetters(others)
  }

  async #explainByLaterRecords(
    above: readonly Unexplained[],
    partitions: readonly CommittedPartition[],
  ): Promise<void> {
    const later = new Map<string, RecordEntry[]>(above.map(({ suspect }) => [suspect.id, []]))
    const present = await withPresentEnds(this.#options, this.#commits)
    const unread = present.map((each, at) => ({ ...each, committed: partitions[at]?.high ?? each.committed }))
    const reading = {
      ...({ what: 'records appended meanwhile', partitions: unread, from: 'committed', to: 'high' } as const),
      concerns: (key: Buffer) => later.has(key.toString('latin1')),
      onEntry: (entry: RecordEntry) => {
        later.get(entry.id)?.push(entry)
      },
    }
    await this.#reader.read(reading)
    for (const { suspect, document } of above) {
      const { type } = placeOf[suspect.kind]
      const appended = (later.get(suspect.id) ?? []).filter((record) => record.type === type)
      const problem = judge(suspect.kind, document, [...suspect.records, ...appended])
      if (problem !== undefined) this.#onDifference({ ...suspect, ...problem })
    }
  }

  async #explainByDeadLetters(suspects: readonly Unexplained[]): Promise<void> {
    const { config, source, signal } = this.#options
    const topics = { forms: config.TOPIC_FORMS, submissions: config.TOPIC_SUBMISSIONS }
    const placeOfRecord = ({ type, partition, offset }: RecordEntry): string => `${topics[type]}/${partition}/${offset}`
    const stored = suspects.flatMap(({ suspect }) =>
      suspect.records.filter(({ version }) => version !== deadLetterVersion),
    )
    const wanted = new Set(stored.map(placeOfRecord))
    const rejected = new Set<string>()
    await source.readTopic({
      ...{ topic: config.TOPIC_DEAD_LETTERS, groupId: verifyGroup(), signal },
      onRecord: async (record) => {
        const { topic, partition, offset } = readDeadLetter(record)
        const place = `${topic}/${partition}/${offset}`
        if (wanted.has(place)) rejected.add(place)
        await this.#pace.rest()
      },
    })
    for (const { suspect, document } of suspects) {
      const accepted = suspect.records.filter((record) => !rejected.has(placeOfRecord(record)))
      if (!isExplainedBy(accepted, suspect, document)) this.#onDifference(suspect)
    }
  }
}

/** Whether the document is right by the records that are no dead letters. */
function isExplainedBy(
  accepted: readonly RecordEntry[],
  suspect: Suspect,
  document: DocumentEntry | undefined,
): boolean {
  if (isBelowRecords(suspect)) return accepted.length < suspect.records.length
  // Compaction has removed the record that the document was made of.
  if (!accepted.some(({ version }) => version === document?.version)) return accepted.length < suspect.records.length
  return judge(suspect.kind, document, accepted) === undefined
}

const isAboveRecords = ({ problem }: Suspect): boolean => problem === 'unexpected' || problem === 'newer'
const isBelowRecords = ({ problem }: Suspect): boolean => problem === 'missing' || problem === 'older'
const isExplicable = (suspect: Suspect): boolean =>
  isAboveRecords(suspect) || isBelowRecords(suspect) || suspect.problem === 'content'
