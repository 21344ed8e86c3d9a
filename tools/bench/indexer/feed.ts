import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bulkBounds, encodeBulk } from '../../../indexer/bulk/bulkApi.ts'
import { convertRecord, type DocumentWrite } from '../../../indexer/convertRecord.ts'
import type { Config } from '../../../src/core/config/config.ts'
import {
  type DocumentKind,
  definitionOf,
  documentKinds,
  type Indices,
  type PhysicalIndex,
  physicalName,
  type WriteAliases,
  writeAliasesOf,
} from '../../../src/core/elasticsearch/indices.ts'
import { noHeaders } from '../../../src/core/kafka/recordHeaders.ts'
import { createTopics } from '../../../src/core/kafka/source.ts'
import { toOffset } from '../../../src/core/model/ids.ts'
import { seededRandom } from '../../sample/random.ts'
import { appendAll, connect } from '../replica.ts'
import type { Stage } from '../stage.ts'
import { type SubmissionRecord, submissionMaker, timeOf } from '../submissions.ts'
import { zipf } from '../zipf.ts'

const partitions = 4
const teams = 1_000
const skew = 0.8
const seed = 'indexer'

export const topicOf = (records: number): string => `submissions-${records}`

/**
 * Appends the first records of each size to a topic of their own, the largest size first. Writes the documents of all records to files, as the bulk
 * requests of an indexer, and resolves with these files.
 */
export async function feed(stage: Stage, sizes: readonly number[]): Promise<readonly Body[]> {
  const [most = 0] = sizes
  const [admin, appendTo] = await connect(stage)
  const folder = join(stage.folder, 'data', 'bodies')
  stage.release(() => rm(folder, { recursive: true, force: true }))
  const bodies = new BodyWriter(folder, ceilingIndices(stage.config))
  await createTopics(admin, sizes.map(topicLike))
  let sent = 0
  const append = async (records: readonly SubmissionRecord[]): Promise<void> => {
    for (const size of sizes) if (size > sent) await appendTo(topicOf(size), records.slice(0, size - sent))
    for (const record of records) await bodies.add(documentsOf(record, stage))
    sent += records.length
  }
  await appendAll(submissionsOf(most), most, append, stage.signal)
  return await bodies.end()
}

const topicLike = (size: number) => ({
  topic: topicOf(size),
  numPartitions: partitions,
  configEntries: [
    { name: 'cleanup.policy', value: 'compact' },
    { name: 'message.timestamp.type', value: 'LogAppendTime' },
  ],
})

/** Of teams of different sizes, in order of `createdAt`. The same at every call. */
function* submissionsOf(count: number): Generator<SubmissionRecord> {
  const random = seededRandom(seed)
  const make = submissionMaker(seed, true)
  const byTeam = zipf(teams, skew)
  for (let index = 0; index < count; index++)
    yield make(`team_${byTeam.rankAt(random.float())}`, timeOf((index + random.float()) / count))
}

function documentsOf({ key, value }: SubmissionRecord, { config }: Stage): readonly DocumentWrite[] {
  const record = {
    topic: config.TOPIC_SUBMISSIONS,
    partition: 0,
    offset: toOffset('0'),
    appendedAtMs: Date.now(),
    key: Buffer.from(key),
    value: Buffer.from(value),
    headers: noHeaders,
  }
  const projection = convertRecord(record, config)
  if (projection.kind !== 'documents') throw new Error(`${key} is no submission`)
  return projection.documents
}

export type Body = { readonly path: string; readonly records: number }

export const ceilingPrefix = 'ceiling'
export const ceilingGeneration = 1

function ceilingIndices({ INDEX_ANSWERS }: Config): Indices {
  const nameOf = (kind: DocumentKind): PhysicalIndex =>
    physicalName(ceilingPrefix, kind, definitionOf(kind, INDEX_ANSWERS).version, ceilingGeneration)
  return Object.fromEntries(documentKinds.map((kind) => [kind, nameOf(kind)])) as Indices
}

/** Each body has the greatest size that an indexer sends. */
class BodyWriter {
  readonly #folder: string
  readonly #aliases: WriteAliases
  readonly #bodies: Body[] = []
  #lines: Buffer[] = []
  #bytes = 0

  constructor(folder: string, indices: Indices) {
    this.#folder = folder
    this.#aliases = writeAliasesOf(indices)
  }

  async add(documents: readonly DocumentWrite[]): Promise<void> {
    const lines = encodeBulk(this.#aliases, documents)
    if (this.#bytes + lines.length > bulkBounds.maxBulkBytes) await this.#write()
    this.#lines.push(lines)
    this.#bytes += lines.length
  }

  /** Resolves with all bodies, in order of the records. */
  async end(): Promise<readonly Body[]> {
    await this.#write()
    return this.#bodies
  }

  async #write(): Promise<void> {
    if (this.#lines.length === 0) return
    const path = join(this.#folder, `${String(this.#bodies.length).padStart(5, '0')}.ndjson`)
    await mkdir(this.#folder, { recursive: true })
    await writeFile(path, Buffer.concat(this.#lines))
    this.#bodies.push({ path, records: this.#lines.length })
    this.#lines = []
    this.#bytes = 0
  }
}

/** The first bodies, with at least `records` records. */
export function bodiesOf(bodies: readonly Body[], records: number): readonly Body[] {
  let sum = 0
  const count = bodies.findIndex((body) => {
    sum += body.records
    return sum >= records
  })
  if (count === -1) throw new Error(`there are no bodies of ${records} records`)
  return bodies.slice(0, count + 1)
}

export const recordsIn = (bodies: readonly Body[]): number => bodies.reduce((sum, { records }) => sum + records, 0)
