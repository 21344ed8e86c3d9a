import { Command, InvalidArgumentError } from 'commander'
import { kindsOf, type PhysicalIndex, readPhysicalName } from '../../src/core/elasticsearch/indices.ts'
import { multiGet } from '../../src/core/elasticsearch/readDocuments.ts'
import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { type DocumentId, deletedRevision, documentId, type EntityId, type TeamId } from '../../src/core/model/ids.ts'
import { type Instant, instantRule, parseInstant, toInstant } from '../../src/core/model/instant.ts'
import { jsonLine, printable } from '../../src/core/monitoring/log.ts'
import { until } from '../backoff.ts'
import { type CommandTools, readIdentifier, runEngineCommand } from '../engineCommand.ts'
import type { FoundGeneration } from '../generations/generation.ts'
import { Generations } from '../generations/generations.ts'
import { expunge, type Place } from './expunge.ts'
import { type KeptRecord, lettersOf, placesOf, readKept, readRetention, recordsOf } from './keptRecords.ts'

/** How long (ms) an indexer may take to apply the deletion. */
const appliedDeadlineMs = 60_000
/** The greatest assumed difference (ms) between the clocks of this machine and of Elasticsearch. */
const clockOffsetMs = 5_000
const redisPlace: Place = {
  engine: 'redis',
  name: 'Redis',
  state: 'nothing',
  until: null,
  detail: 'holds no submissions',
}

export const command = new Command()
  .requiredOption('--team <id>', 'its team', readIdentifier<TeamId>)
  .requiredOption('--submission <id>', 'a submission that the product has deleted', readIdentifier<EntityId>)
  .option('--clean-since <instant>', 'the "looked" time of an earlier receipt that lists no index as left', readInstant)
  .option('--json', 'print one JSON object')
  .addHelpText('after', '\nExit code 0: nothing is left on disk. 1: something is, or it was not judged.')
  .action(async ({ team, submission, cleanSince, json }: Options) => {
    await runEngineCommand('erase', async (tools) => {
      const receipt = await erase(tools, documentId(team, submission), cleanSince)
      tools.report.end()
      const lines = receiptLines(receipt).map((line) => `${line.split('\t').map(printable).join('\t')}\n`)
      process.stdout.write(json ? jsonLine(receipt) : lines.join(''))
      process.exitCode = receipt.erased ? 0 : 1
    })
  })

type Options = { team: TeamId; submission: EntityId; cleanSince?: Instant; json?: true }

function readInstant(text: string): Instant {
  const instant = parseInstant(text)
  if (instant === undefined) throw new InvalidArgumentError(`must be ${instantRule}`)
  return instant
}

export type Receipt = {
  readonly key: DocumentId
  /** When the deletion was appended to Kafka. */
  readonly deletedAt: Instant
  readonly lookedAt: Instant
  /** Whether no place on disk may have data of the submission. */
  readonly erased: boolean
  readonly places: readonly Place[]
}

/**
 * Removes from Elasticsearch a submission that the product has deleted; throws, without any change, if it has not. `cleanSince`: the `lookedAt` of an earlier
 * run that left the submission in no index.
 */
export async function erase(tools: CommandTools, id: DocumentId, cleanSince?: Instant): Promise<Receipt> {
  const { config } = tools
  // 1. Checks the deletion, and that an indexer has applied it. Reads the records that Kafka still has; by mistake, some may be in `forms`, or
  //    under another key (`otherKey`).
  const records = await readKept(tools, config.TOPIC_SUBMISSIONS, recordsOf(id, config))
  const ownRecords = records.filter(({ otherKey }) => otherKey === undefined)
  expectDeleted(id, ownRecords)
  const recordsByTopic = [
    [config.TOPIC_SUBMISSIONS, records],
    [config.TOPIC_FORMS, await readKept(tools, config.TOPIC_FORMS, recordsOf(id, config))],
    [config.TOPIC_DEAD_LETTERS, await readKept(tools, config.TOPIC_DEAD_LETTERS, lettersOf(id, config))],
  ] as const
  const kafkaPlaces: Place[] = []
  for (const [topic, keptRecords] of recordsByTopic)
    kafkaPlaces.push(...placesOf(keptRecords, await readRetention(tools, topic), tools.clock()))
  const { deletedAt, documents } = await untilApplied(tools, id, ownRecords.length > 0)
  if (cleanSince !== undefined && cleanSince < deletedAt)
    throw new Error(`--clean-since is before the deletion of ${deletedAt}. Nothing was changed`)
  // 2. If the permission for step 4 is missing, the command fails before any change.
  await snapshotsOf(tools)
  // 3. Rewrites the segments that may still have the submission.
  const indexPlaces: Place[] = []
  for (const { index, ahead, state, seqNo } of documents) {
    const isTombstone = state === 'deleted'
    indexPlaces.push(isTombstone ? await expunge(tools, index, id, seqNo) : placeWithoutTombstone(index, ahead, state))
  }
  const { indices: presentIndices } = await submissionIndices(tools)
  indexPlaces.push(...createdMeanwhile(presentIndices, documents))
  // 4. A snapshot that was started during step 3 may have the former segments.
  const backupPlaces = backupsOf(await snapshotsOf(tools), presentIndices, cleanSince)
  const detail = 'in memory only, and served to nobody; until API processes restart, or newer answers replace them'
  const apiPlace: Place = { engine: 'api', name: 'cached answers', state: 'memory', until: null, detail }
  const places = [...indexPlaces, ...backupPlaces, ...kafkaPlaces, redisPlace, apiPlace]
  const erased = places.every(({ state }) => state !== 'left')
  return { key: id, deletedAt, lookedAt: toInstant(tools.clock()), erased, places }
}

/** Places that still have data come last. */
export function receiptLines({ key, deletedAt, lookedAt, erased, places }: Receipt): string[] {
  const left = places.filter(({ state }) => state === 'left')
  const others = places.filter(({ state }) => state !== 'left')
  const lines = [...others, ...left].map(({ state, name, until, detail }) => {
    const detailAndTime = until === null ? detail : `${detail}; until ${until} at the latest`
    return [state, name, detailAndTime].join('\t')
  })
  const result = erased ? 'nothing is left on disk' : `left in ${left.length} places`
  return [...lines, `${key}, deleted ${deletedAt}: ${result}; looked ${lookedAt}`]
}

/** Without a record, `untilApplied` decides by the tombstone in the index. */
export function expectDeleted(id: DocumentId, records: readonly KeptRecord[]): void {
  // A key is in two partitions after partitions were added; their offsets cannot be compared.
  const [newest] = records.toSorted((a, b) => {
    return a.partition === b.partition ? Number(b.offset - a.offset) : b.appendedAtMs - a.appendedAtMs
  })
  if (newest === undefined || newest.isDeletion) return
  const place = `${partitionName(newest)}/${newest.offset} of ${toInstant(newest.appendedAtMs)}`
  throw new Error(`the product has not deleted ${id}: its newest record, ${place}, is no deletion. Nothing was changed`)
}

/** In every generation. `serving`: the number of the serving generation, if one is complete. */
type SubmissionIndices = {
  readonly indices: FoundGeneration['indices']
  readonly serving: number | undefined
}

async function submissionIndices({ elasticsearch, config, signal }: CommandTools): Promise<SubmissionIndices> {
  const generations = await new Generations(elasticsearch, config, { signal }).find()
  const indices = generations
    .flatMap((generation) => generation.indices)
    .filter(({ kind }) => kindsOf.submissions.includes(kind))
  return { indices, serving: generations.find(({ complete }) => complete?.isServing)?.number }
}

/** A rebuild has created these indices since `documents` were read, perhaps from records that Kafka still has. */
function createdMeanwhile(
  present: SubmissionIndices['indices'],
  documents: readonly { readonly index: PhysicalIndex }[],
): Place[] {
  const created = present.filter(({ name }) => !documents.some(({ index }) => index === name))
  const detail = 'was made meanwhile: run again'
  return created.map(({ name }) => ({ engine: 'elasticsearch', name, state: 'left', until: null, detail }))
}

/** `deleted`: the index has a tombstone. */
type IndexedState = {
  readonly index: PhysicalIndex
  readonly state: 'deleted' | 'live' | 'missing'
  /** 0 if `missing`. */
  readonly seqNo: number
  readonly deletedAt: Instant | undefined
}
/** `ahead`: the number of the index's generation minus that of the serving one. Above 0: a rebuild fills the index; below 0: the index serves no longer. */
type StateInGeneration = IndexedState & { readonly ahead: number }

/**
 * Waits until both documents in the serving generation are tombstones. `isInKafka`: Kafka has the deletion; if not, throws at once when tombstones are missing.
 */
async function untilApplied(
  tools: CommandTools,
  id: DocumentId,
  isInKafka: boolean,
): Promise<{ readonly deletedAt: Instant; readonly documents: readonly StateInGeneration[] }> {
  let documents: StateInGeneration[] = []
  const isApplied = async (): Promise<boolean> => {
    const { indices, serving } = await submissionIndices(tools)
    if (serving === undefined) throw new Error('no complete generation of indices serves')
    const reads = indices.map(async ({ name, generation }) => {
      return { ...(await readDocument(tools, name, id)), ahead: generation - serving }
    })
    documents = await Promise.all(reads)
    const servingDocuments = documents.filter(({ ahead }) => ahead === 0)
    return servingDocuments.every(({ state }) => state === 'deleted')
  }
  if (!(await isApplied())) {
    if (!isInKafka)
      throw new Error(`the product has not deleted ${id}: neither topic nor indices know of it. Nothing was changed`)
    tools.report.step('waits until an indexer has applied the deletion')
    if (!(await until(isApplied, appliedDeadlineMs, tools.signal)))
      throw new Error(`no indexer has applied the deletion of ${id} yet: run again later. Nothing was changed`)
  }
  const deletedAt = documents.find(({ ahead }) => ahead === 0)?.deletedAt as Instant
  return { deletedAt, documents }
}

async function readDocument(
  { elasticsearch, signal }: CommandTools,
  index: PhysicalIndex,
  id: DocumentId,
): Promise<IndexedState> {
  const [document] = await multiGet(elasticsearch, index, [id], ['tombstone'], { signal })
  if (document === undefined) return { index, state: 'missing', seqNo: 0, deletedAt: undefined }
  const source = JSON.parse(document.source) as { readonly tombstone?: { readonly deletedAt: Instant } }
  const state = document.version === deletedRevision ? 'deleted' : 'live'
  return { index, state, seqNo: document.seqNo, deletedAt: source.tombstone?.deletedAt }
}

/** The index is not of the serving generation. */
function placeWithoutTombstone(name: PhysicalIndex, ahead: number, state: 'live' | 'missing'): Place {
  const place = { engine: 'elasticsearch', name, until: null } as const
  if (ahead > 0) return { ...place, state: 'left', detail: 'a rebuild fills it: run again once that has ended' }
  if (state === 'missing') return { ...place, state: 'nothing', detail: 'it was never there' }
  return { ...place, state: 'left', detail: 'serves no longer: until `npm run rebuild` removes it' }
}

type Snapshot = {
  readonly name: string
  /** Epoch ms. */
  readonly startedMs: number
  readonly indices: readonly string[]
}

/** Only those with indices of submissions. */
async function snapshotsOf({ elasticsearch, config, signal }: CommandTools): Promise<Snapshot[]> {
  const { snapshots = [] } = await elasticsearch.snapshot.get({ repository: '*', snapshot: '*' }, { signal })
  const isOurs = (index: string): boolean =>
    kindsOf.submissions.some((kind) => readPhysicalName(config.INDEX_PREFIX, index)?.kind === kind)
  return snapshots
    .map(({ repository, snapshot, indices = [], start_time_in_millis: startedMs }) => ({
      name: `snapshot ${repository}/${snapshot}`,
      startedMs: Number(startedMs),
      indices: indices.filter(isOurs),
    }))
    .filter(({ indices }) => indices.length > 0)
}

/**
 * The snapshots that may have the submission. Their age decides, since their content cannot be read: a snapshot has nothing if it was started after the run of
 * `cleanSince`, and each of its indices was created before. Into a later index, a rebuild may have copied the submission from Kafka.
 */
function backupsOf(
  snapshots: readonly Snapshot[],
  presentIndices: SubmissionIndices['indices'],
  cleanSince: Instant | undefined,
): Place[] {
  const cleanMs = cleanSince === undefined ? Infinity : Date.parse(cleanSince)
  const cleanIndices = presentIndices
    .filter(({ state }) => Number(state.settings?.index?.creation_date) < cleanMs - clockOffsetMs)
    .map(({ name }) => String(name))
  const suspects = snapshots.filter(({ startedMs, indices }) => {
    const isOlder = startedMs <= cleanMs + clockOffsetMs
    const hasLaterIndex = indices.some((index) => !cleanIndices.includes(index))
    return isOlder || hasLaterIndex
  })
  return suspects.map(({ name, startedMs }) => {
    const detail = `begun ${toInstant(startedMs)}, kept until it is deleted`
    return { engine: 'elasticsearch', name, state: 'left', until: null, detail }
  })
}
