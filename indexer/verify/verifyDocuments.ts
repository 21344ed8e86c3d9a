import { documentKinds } from '../../src/core/stores/indices.ts'
import { type Commits, expectUnchanged, noteCommits, withPresentEnds } from './commits.ts'
import { compareBucket, spoolName } from './compareDocuments.ts'
import type { Difference } from './difference.ts'
import { encodeDocument, encodeRecord, placeOf } from './entries.ts'
import { Inspection } from './inspectSuspects.ts'
import { differenceKindOf } from './judge.ts'
import { Pace } from './pace.ts'
import { RecordReader } from './readRecords.ts'
import { scanIndex } from './scanIndex.ts'
import { Spool } from './spool.ts'
import type { VerifyOptions } from './verifyOptions.ts'

const requestTimeoutMs = 30_000

export type ComparedDocuments = {
  /** Documents in the indices. */
  readonly documents: number
  /** Records that were compared with them. */
  readonly records: number
  /** Records that no indexer had committed when the comparison began. */
  readonly uncommitted: number
}

/**
 * Compares every document of the generation that serves with the fold of the records that indexers have committed for it. Whatever is
 * appended or indexed meanwhile is taken into account. Throws `NotJudged` when the indices or the topics are replaced meanwhile.
 */
export async function verifyDocuments(
  options: VerifyOptions,
  onDifference: (difference: Difference) => void,
): Promise<ComparedDocuments> {
  const commits = await noteCommits(options)
  const spool = await Spool.open()
  try {
    return await compareAll(options, commits, spool, onDifference)
  } catch (error) {
    // An index that is gone because another generation serves is no failure of Elasticsearch.
    if (!options.signal.aborted) await expectUnchanged(options, commits)
    throw error
  } finally {
    await spool.close()
  }
}

async function compareAll(
  options: VerifyOptions,
  commits: Commits,
  spool: Spool,
  onDifference: (difference: Difference) => void,
): Promise<ComparedDocuments> {
  const { report, team } = options
  const pace = new Pace(options.signal)
  const reader = new RecordReader(options, pace)
  const { number } = commits.generation
  report.step(`generation ${number} is compared with the topics; digests go to a temporary file without a name`)
  const partitions = [...commits.partitions.values()]
  let records = 0
  const reading = {
    concerns: (key: Buffer) => team === undefined || key.toString('latin1').startsWith(`${team}/`),
    onEntry: async (entry: Parameters<typeof encodeRecord>[0]) => {
      records++
      await spool.append(spoolName(entry.type, entry.id), encodeRecord(entry))
    },
  }
  await reader.read({ ...reading, what: 'records read', partitions, from: 'low', to: 'committed' })
  await spoolIndices(options, commits, spool, pace)
  const present = await withPresentEnds(options, commits)
  await reader.read({ ...reading, what: 'later records read', partitions: present, from: 'committed', to: 'high' })
  report.step(`${Math.ceil(spool.bytes / 1024 / 1024)} MiB of digests are compared`)

  const inspection = new Inspection(options, commits, reader, pace, ({ kind, id, detail, ...problem }) => {
    const slash = id.indexOf('/')
    const [itsTeam, itsId] = [id.slice(0, slash), id.slice(slash + 1)]
    onDifference({
      kind: differenceKindOf(kind, { detail, ...problem }),
      ...{ team: itsTeam as Difference['team'], id: itsId, where: kind, detail },
    })
  })
  let documents = 0
  for (let bucket = 0; bucket < spool.buckets; bucket++) {
    const compared = await compareBucket(spool, bucket)
    documents += compared.documents
    await inspection.inspect(compared.suspects)
    await pace.rest()
  }
  await inspection.explain(present)
  await expectUnchanged(options, commits)
  const uncommitted = partitions.reduce((sum, { committed, high }) => sum + Number(high - committed), 0)
  return { documents, records, uncommitted }
}

async function spoolIndices(options: VerifyOptions, commits: Commits, spool: Spool, pace: Pace): Promise<void> {
  const { elasticsearch, report, team, signal } = options
  const { indices } = commits.generation
  for (const kind of documentKinds) {
    const query = team === undefined ? {} : { query: { term: { _routing: team } } }
    const request = { signal, requestTimeout: requestTimeoutMs }
    const { count } = await elasticsearch.count({ index: indices[kind], ...query }, request)
    let read = 0
    for await (const page of scanIndex(options, kind, indices[kind], team)) {
      for (const document of page)
        await spool.append(spoolName(placeOf[kind].type, document.id), encodeDocument(document))
      read += page.length
      report.progress(`${kind} read`, Math.min(read, count), count)
      await pace.rest()
    }
  }
}
