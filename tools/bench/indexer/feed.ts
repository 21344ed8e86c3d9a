import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRecord } from '../../../indexer/projection.ts'
import { createTopics } from '../../../src/core/kafka/source.ts'
import { toOffset } from '../../../src/core/model/ids.ts'
import type { DocumentWrite } from '../../../src/core/stores/documents.ts'
import { busyTimes } from '../../demo/calendar.ts'
import { seededRandom } from '../../demo/random.ts'
import { appendAll, connect } from '../replica.ts'
import type { Stage } from '../stage.ts'
import { newestMs, type SubmissionRecord, submissionMaker, windowDays } from '../submissions.ts'
import { zipf } from '../zipf.ts'
import { type Body, BodyWriter, ceilingIndices } from './bodies.ts'
import { partitions } from './peers/task.ts'

const teams = 1_000
const skew = 0.8
const seed = 'indexer'

/** The topic that holds so many records. */
export const topicOf = (records: number): string => `submissions-${records}`

/**
 * Brings the first records of each size, the largest one first, into a topic of its own, and the documents of all into files, as the
 * bulk requests of an indexer. Returns those.
 */
export async function feed(stage: Stage, sizes: readonly number[]): Promise<readonly Body[]> {
  const [most = 0] = sizes
  const [admin, appendTo] = await connect(stage)
  const folder = join(stage.folder, 'data', 'bodies')
  stage.release(() => rm(folder, { recursive: true, force: true }))
  const bodies = new BodyWriter(folder, await ceilingIndices())
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

/** Submissions of teams of uneven size, in the order of created time. The same at every call. */
function* submissionsOf(count: number): Generator<SubmissionRecord> {
  const random = seededRandom(seed)
  const make = submissionMaker(seed, true)
  const timeOf = busyTimes(newestMs, windowDays)
  const byTeam = zipf(teams, skew)
  for (let index = 0; index < count; index++)
    yield make(`team_${byTeam.rankAt(random.float())}`, timeOf((index + random.float()) / count))
}

/** What an indexer makes of a record. */
function documentsOf({ key, value }: SubmissionRecord, { config }: Stage): readonly DocumentWrite[] {
  const record = {
    topic: config.TOPIC_SUBMISSIONS,
    partition: 0,
    offset: toOffset('0'),
    appendedAtMs: Date.now(),
    key: Buffer.from(key),
    value: Buffer.from(value),
    headers: {},
  }
  const projection = projectRecord(record, record.appendedAtMs, config)
  if (projection.kind !== 'documents') throw new Error(`${key} is no submission`)
  return projection.documents
}
