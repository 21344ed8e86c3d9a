import type { EntityType } from '../../src/core/model/teamList.ts'
import { documentKinds } from '../../src/core/stores/indices.ts'
import { readDeadLetter } from '../deadLetters/deadLetters.ts'
import { verifyAccountKeys } from './accountKeys.ts'
import { type Commits, expectUnchanged, noteCommits, presentEnds } from './commits.ts'
import { Comparison } from './comparison.ts'
import { Differences } from './differences.ts'
import { RecordReader } from './readRecords.ts'
import { getDocuments, ofTeam, scanDocuments } from './storedDocuments.ts'
import { NotJudged, requestTimeoutMs, type Verification } from './verification.ts'

/** So many differences of each kind are named. */
const maxNamed = 1_000

export type Verdict = {
  readonly isEqual: boolean
  /** One line for each difference and note, then the result. */
  readonly lines: readonly string[]
}

/** Compares every document and every account key with the topics. Throws `NotJudged` when that is impossible. */
export async function verify(verification: Verification): Promise<Verdict> {
  const differences = new Differences(maxNamed)
  const accountKeys = await verifyAccountKeys(verification, differences)
  const { documents, records, uncommitted } = await verifyDocuments(verification, differences)
  if (verification.team !== undefined && documents + records + accountKeys === 0)
    throw new NotJudged(`neither the topics nor the replica hold anything of the team ${verification.team}`)
  const noted = differences.noted()
  const result = [
    `${differences.summary()}; compared ${documents} documents and ${accountKeys} account keys`,
    ...(noted === '' ? [] : [`noted: ${noted}`]),
    ...(uncommitted === 0 ? [] : [`${uncommitted} records were not committed yet`]),
  ]
  return { isEqual: differences.isEmpty, lines: [...differences.lines(), result.join('; ')] }
}

type ComparedDocuments = {
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
  verification: Verification,
  differences: Differences,
): Promise<ComparedDocuments> {
  const commits = await noteCommits(verification)
  const comparison = new Comparison()
  try {
    return await compare(verification, commits, comparison, differences)
  } finally {
    comparison.close()
    // Says why, also when it has failed: an index that is gone because another generation serves is no failure of Elasticsearch.
    await expectUnchanged(verification, commits)
  }
}

async function compare(
  verification: Verification,
  commits: Commits,
  comparison: Comparison,
  differences: Differences,
): Promise<ComparedDocuments> {
  const { report } = verification
  const { number } = commits.generation
  report.step(`generation ${number} is compared with the topics; digests go to a temporary file without a name`)
  let records = 0
  const reader = new RecordReader(verification, commits, (record) => {
    records++
    comparison.addRecord(record)
  })
  await reader.readTo(
    new Map([...commits.partitions].map(([name, { committed }]) => [name, committed])),
    'records read',
  )
  await readIndices(verification, commits, comparison)
  await reader.readTo(await presentEnds(verification, commits), 'later records read')

  report.step('digests are compared')
  const { documents, suspects } = await judgeAll(verification, comparison)
  if (suspects > 0) {
    await readAgain(verification, commits, comparison, differences)
    await reader.readTo(await presentEnds(verification, commits), 'records appended meanwhile')
    await markDeadLetters(verification, comparison)
    for (const kind of documentKinds)
      for (const { suspects } of comparison.judge(kind, 'suspects'))
        for (const suspect of suspects) differences.addDocument(suspect)
  }
  const uncommitted = [...commits.partitions.values()].reduce(
    (sum, each) => sum + Number(each.high - each.committed),
    0,
  )
  return { documents, records, uncommitted }
}

/** Reads the four indices, each at one moment. */
async function readIndices(verification: Verification, commits: Commits, comparison: Comparison): Promise<void> {
  const { elasticsearch, report, pace, signal } = verification
  for (const kind of documentKinds) {
    const index = commits.generation.indices[kind]
    const request = { signal, requestTimeout: requestTimeoutMs }
    const { count } = await elasticsearch.count({ index, query: ofTeam(verification.team) }, request)
    let read = 0
    for await (const part of scanDocuments(verification, kind, index)) {
      for (const document of part) {
        comparison.setDocument(document)
        await pace.rest()
      }
      read += part.length
      report.progress(`${kind} read`, Math.min(read, count), count)
    }
  }
}

/** Judges all documents: how many there are, and how many of them or of those that are missing are suspect. */
async function judgeAll(
  { pace }: Verification,
  comparison: Comparison,
): Promise<{ readonly documents: number; readonly suspects: number }> {
  let [documents, suspects] = [0, 0]
  for (const kind of documentKinds)
    for (const page of comparison.judge(kind, 'all')) {
      documents += page.documents
      suspects += page.suspects.length
      await pace.rest()
    }
  return { documents, suspects }
}

/** Reads the suspects' documents once more, in the live system: one that was under way is no difference. */
async function readAgain(
  verification: Verification,
  commits: Commits,
  comparison: Comparison,
  differences: Differences,
): Promise<void> {
  for (const kind of documentKinds) {
    const index = commits.generation.indices[kind]
    for (const { suspects } of comparison.judge(kind, 'suspects')) {
      const ids = suspects.map(({ id }) => id)
      const found = await getDocuments(verification, kind, index, ids)
      for (const id of ids) comparison.removeDocument(kind, id)
      for (const document of found) comparison.setDocument(document)
      // Nobody deletes documents: one that a look-up by its team does not find lies in the shard of another team.
      const strays = suspects.filter(
        ({ id, problem }) => problem === 'unexpected' && found.every((each) => each.id !== id),
      )
      for (const stray of strays) differences.addDocument(stray)
      await verification.pace.rest()
    }
  }
}

/** A record that Elasticsearch has rejected, or whose content came too late for its revision, is a dead letter like any other. */
async function markDeadLetters({ config, source, pace, signal }: Verification, comparison: Comparison): Promise<void> {
  const types = new Map<string, EntityType>([
    [config.TOPIC_FORMS, 'forms'],
    [config.TOPIC_SUBMISSIONS, 'submissions'],
  ])
  await source.readTopic({
    topic: config.TOPIC_DEAD_LETTERS,
    signal,
    onRecord: async (record) => {
      const { topic, partition, offset, key } = readDeadLetter(record)
      const type = types.get(topic)
      if (type !== undefined && key !== null) comparison.markDeadLetter(type, key.toString('latin1'), partition, offset)
      await pace.rest()
    },
  })
}
