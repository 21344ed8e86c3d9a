import { Command, InvalidArgumentError } from 'commander'
import { kindsOf, type PhysicalIndex, readPhysicalName } from '../../src/core/elasticsearch/indices.ts'
import { multiGet } from '../../src/core/elasticsearch/readDocuments.ts'
import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import { type DocumentId, deletedRevision, documentId, type EntityId, type TeamId } from '../../src/core/model/ids.ts'
import { type Instant, instantRule, parseInstant, toInstant } from '../../src/core/model/instant.ts'
import { jsonLine, printable } from '../../src/core/monitoring/log.ts'
import { until } from '../backoff.ts'
import { type CommandTools, readIdentifier, runEngineCommand } from '../engineCommand.ts'
import { Generations } from '../generations/generations.ts'
import { expunge, type Place } from './expunge.ts'
import { type KeptRecord, lettersOf, placesOf, readKeeping, readKept, recordsOf } from './keptRecords.ts'

const appliedDeadlineMs = 60_000
/** By how much the clocks of this machine and of Elasticsearch may differ. */
const clockOffsetMs = 5_000
/** No key there names a submission, or holds anything of one (`redisKeys`). */
const redis: Place = { engine: 'redis', name: 'Redis', state: 'nothing', until: null, detail: 'holds no submissions' }

export const command = new Command()
  .requiredOption('--team <id>', 'its team', readIdentifier<TeamId>)
  .requiredOption('--submission <id>', 'a submission that the product has deleted', readIdentifier<EntityId>)
  .option('--clean-since <instant>', '"looked" of a receipt without indices that are left', readInstant)
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

/**
 * Removes what is left of a submission that the product has deleted, and tells what remains: `erased` if no place is `left`. Otherwise changes
 * nothing, and throws. `cleanSince`: when an earlier run left it in no index.
 */
export async function erase(tools: CommandTools, id: DocumentId, cleanSince?: Instant) {
  const { config } = tools
  const records = await readKept(tools, config.TOPIC_SUBMISSIONS, recordsOf(id, config))
  const own = records.filter(({ other }) => other === undefined)
  expectDeleted(id, own)
  const kept = [
    [config.TOPIC_SUBMISSIONS, records],
    [config.TOPIC_FORMS, await readKept(tools, config.TOPIC_FORMS, recordsOf(id, config))],
    [config.TOPIC_DEAD_LETTERS, await readKept(tools, config.TOPIC_DEAD_LETTERS, lettersOf(id, config))],
  ] as const
  const kafka: Place[] = []
  for (const [topic, found] of kept) kafka.push(...placesOf(found, await readKeeping(tools, topic), tools.clock()))
  const { deletedAt, documents } = await untilApplied(tools, id, own.length > 0)
  if (cleanSince !== undefined && cleanSince < deletedAt)
    throw new Error(`--clean-since is before the deletion of ${deletedAt}. Nothing was changed`)
  // Fails before anything is changed, where the command may not look.
  await snapshotsOf(tools)
  const indices: Place[] = []
  for (const { index, age, state, seqNo } of documents)
    indices.push(state === 'deleted' ? await expunge(tools, index, id, seqNo) : otherGeneration(index, age, state))
  const { indices: present } = await submissionIndices(tools)
  indices.push(...madeMeanwhile(present, documents))
  // A snapshot that was begun during the merges may hold what they have removed, too.
  const backups = backupsOf(await snapshotsOf(tools), present, cleanSince)
  const detail = 'nobody is served them; until API processes restart, or newer answers take their memory'
  const api: Place = { engine: 'api', name: 'cached answers', state: 'memory', until: null, detail }
  const places = [...indices, ...backups, ...kafka, redis, api]
  const erased = places.every(({ state }) => state !== 'left')
  return { key: id, deletedAt, lookedAt: toInstant(tools.clock()), erased, places }
}

export type Receipt = Awaited<ReturnType<typeof erase>>

/** A line for each place, what is left last, and one for the result. */
export function receiptLines({ key, deletedAt, lookedAt, erased, places }: Receipt): string[] {
  const isLeft = ({ state }: Place): number => Number(state === 'left')
  const sorted = places.toSorted((a, b) => isLeft(a) - isLeft(b))
  const lines = sorted.map(({ state, name, until, detail }) =>
    [state, name, until === null ? detail : `${detail}; until ${until} at the latest`].join('\t'),
  )
  const result = erased ? 'nothing is left on disk' : `left in ${places.filter(isLeft).length} places`
  return [...lines, `${key}, deleted ${deletedAt}: ${result}; looked ${lookedAt}`]
}

/** Throws unless the newest record is a deletion. None at all: Kafka has forgotten the deletion, or has never known the submission. */
export function expectDeleted(id: DocumentId, records: readonly KeptRecord[]): void {
  const [newest] = records.toSorted((a, b) => {
    return a.partition === b.partition ? Number(b.offset - a.offset) : b.appendedAtMs - a.appendedAtMs
  })
  if (newest === undefined || newest.isDeletion) return
  const at = `${partitionName(newest)}/${newest.offset} of ${toInstant(newest.appendedAtMs)}`
  throw new Error(`the product has not deleted ${id}: its newest record, ${at}, is no deletion. Nothing was changed`)
}

/** The indices of submissions, each with the number of its generation, and the number of the one that serves. */
async function submissionIndices({ elasticsearch, config, signal }: CommandTools) {
  const found = await new Generations(elasticsearch, config, { signal }).find()
  const indices = found.flatMap((each) => each.indices).filter(({ kind }) => kindsOf.submissions.includes(kind))
  return { indices, serving: found.find(({ complete }) => complete?.isServing)?.number }
}

type FoundIndices = Awaited<ReturnType<typeof submissionIndices>>['indices']

/** Indices that a rebuild has made since `known` were looked at: it may have written there what Kafka still holds. */
function madeMeanwhile(present: FoundIndices, known: readonly { readonly index: PhysicalIndex }[]): Place[] {
  const made = present.filter(({ name }) => !known.some(({ index }) => index === name))
  const detail = 'was made meanwhile: run again'
  return made.map(({ name }) => ({ engine: 'elasticsearch', name, state: 'left', until: null, detail }))
}

/** Waits until the generation that serves holds the tombstones. Returns the documents of every generation. */
async function untilApplied(tools: CommandTools, id: DocumentId, isInKafka: boolean) {
  /** `age`: how far the generation of the document's index is above the one that serves. */
  let documents: (Awaited<ReturnType<typeof readDocument>> & { readonly age: number })[] = []
  const isApplied = async (): Promise<boolean> => {
    const { indices, serving } = await submissionIndices(tools)
    if (serving === undefined) throw new Error('no complete generation of indices serves')
    const read = indices.map(async ({ name, generation }) => {
      return { ...(await readDocument(tools, name, id)), age: generation - serving }
    })
    documents = await Promise.all(read)
    return documents.every(({ age, state }) => age !== 0 || state === 'deleted')
  }
  if (!(await isApplied())) {
    if (!isInKafka)
      throw new Error(`the product has not deleted ${id}: neither topic nor indices know of it. Nothing was changed`)
    tools.report.step('waits until an indexer has applied the deletion')
    if (!(await until(isApplied, appliedDeadlineMs, tools.signal)))
      throw new Error(`no indexer has applied the deletion of ${id} yet: run again later. Nothing was changed`)
  }
  const deletedAt = documents.find(({ age }) => age === 0)?.deletedAt as Instant
  return { deletedAt, documents }
}

async function readDocument({ elasticsearch, signal }: CommandTools, index: PhysicalIndex, id: DocumentId) {
  const [found] = await multiGet(elasticsearch, index, [id], ['tombstone'], { signal })
  const source = JSON.parse(found?.source ?? '{}') as { readonly tombstone?: { readonly deletedAt: Instant } }
  const present = found?.version === deletedRevision ? 'deleted' : 'live'
  const state: 'deleted' | 'live' | 'missing' = found === undefined ? 'missing' : present
  return { index, state, seqNo: found?.seqNo ?? 0, deletedAt: source.tombstone?.deletedAt }
}

/** What is said of an index that does not serve and holds no tombstone. */
function otherGeneration(name: PhysicalIndex, age: number, found: 'live' | 'missing'): Place {
  const place = { engine: 'elasticsearch', name, until: null } as const
  if (age > 0) return { ...place, state: 'left', detail: 'a rebuild fills it: run again once that has ended' }
  if (found === 'missing') return { ...place, state: 'nothing', detail: 'it was never there' }
  return { ...place, state: 'left', detail: 'serves no longer: until `npm run rebuild` removes it' }
}

/** Snapshots with indices of submissions, in the repositories that Elasticsearch knows. */
async function snapshotsOf({ elasticsearch, config, signal }: CommandTools) {
  const { snapshots = [] } = await elasticsearch.snapshot.get({ repository: '*', snapshot: '*' }, { signal })
  const isOurs = (index: string): boolean =>
    kindsOf.submissions.some((kind) => readPhysicalName(config.INDEX_PREFIX, index)?.kind === kind)
  return snapshots
    .map(({ repository, snapshot, indices = [], start_time_in_millis: begunMs }) => ({
      ...{ name: `snapshot ${repository}/${snapshot}`, begunMs: Number(begunMs), indices: indices.filter(isOurs) },
    }))
    .filter(({ indices }) => indices.length > 0)
}

/**
 * What is said of snapshots. Nobody can look into one: each may hold the submission, but those that were begun after an earlier run had left it
 * in no index. A rebuild makes indices from Kafka, which may still hold the submission.
 */
function backupsOf(
  snapshots: Awaited<ReturnType<typeof snapshotsOf>>,
  present: FoundIndices,
  cleanSince: Instant | undefined,
): Place[] {
  const cleanMs = cleanSince === undefined ? Infinity : Date.parse(cleanSince)
  const clean = present.filter(({ state }) => Number(state.settings?.index?.creation_date) < cleanMs - clockOffsetMs)
  const mayHold = snapshots.filter(
    ({ begunMs, indices }) =>
      begunMs <= cleanMs + clockOffsetMs || !indices.every((index) => clean.some(({ name }) => name === index)),
  )
  return mayHold.map(({ name, begunMs }) => {
    const detail = `begun ${toInstant(begunMs)}, kept until it is deleted`
    return { engine: 'elasticsearch', name, state: 'left', until: null, detail }
  })
}
