import { documentKinds, type Indices } from '../../src/core/stores/indices.ts'
import { readDeadLetter } from '../deadLetters/deadLetters.ts'
import { documentTopics, entityTypeIn } from '../topics.ts'
import { CommittedTopics } from './committedTopics.ts'
import { verifyAccountKeys } from './compareAccountKeys.ts'
import { Comparison } from './comparison.ts'
import { Differences } from './differences.ts'
import { getDocuments, ofTeam, scanDocuments } from './storedDocuments.ts'
import { requestTimeoutMs, type Verification } from './verification.ts'

/**
 * Compares every document and every account key with the topics. Returns a line for each difference and note and one for the result, and
 * the same as an object. Throws when nobody can tell: what the comparison rests on is missing, or has changed meanwhile.
 */
export async function verify(verification: Verification) {
  const differences = new Differences()
  const accountKeys = await verifyAccountKeys(verification, differences)
  const { documents, records, uncommitted } = await verifyDocuments(verification, differences)
  if (verification.team !== undefined && documents + records + accountKeys === 0)
    throw new Error(`neither the topics nor the replica hold anything of the team ${verification.team}`)
  const { isEqual, lines, summary, noted, ...found } = differences.report()
  const last = [
    `${summary}; compared ${documents} documents and ${accountKeys} account keys`,
    ...(noted === '' ? [] : [`noted: ${noted}`]),
    ...(uncommitted === 0 ? [] : [`${uncommitted} records were not committed yet`]),
  ]
  const result = { equal: isEqual, documents, accountKeys, uncommitted, ...found }
  return { lines: [...lines, last.join('; ')], result }
}

/**
 * Compares every document of the generation that serves with the fold of the records that indexers have committed for it, while records are
 * appended and indexed. Throws when the indices or the topics are replaced meanwhile. Returns how many documents and records there are,
 * and how many records no indexer had committed when the comparison began.
 */
export async function verifyDocuments(verification: Verification, differences: Differences) {
  const { report, rest } = verification
  const topics = await CommittedTopics.note(verification)
  const { number, indices } = topics.generation
  report.step(`generation ${number} is compared with the topics; digests go to a temporary file without a name`)
  const comparison = new Comparison()
  try {
    await topics.readCommitted(comparison)
    await readIndices(verification, indices, comparison)
    await topics.readAppended('later records read', comparison)

    report.step('digests are compared')
    let isEqual = true
    for (const { kind, found } of comparison.differences()) {
      isEqual &&= found.length === 0
      // Once more, in the live system: a write that was under way is no difference. Nobody deletes documents: what a look-up by its team does
      // not find lies in the shard of another team, and stays as it was read.
      const ids = found.map(({ id }) => id)
      for (const document of await getDocuments(verification, kind, indices[kind], ids))
        comparison.setDocument(document)
      await rest()
    }
    if (!isEqual) {
      await topics.readAppended('records appended meanwhile', comparison)
      await markDeadLetters(verification, comparison)
      for (const { found } of comparison.differences()) {
        for (const each of found) differences.add(each)
        await rest()
      }
    }
    const [documents, records] = [comparison.count('documents'), comparison.count('records')]
    return { documents, records, uncommitted: topics.uncommitted }
  } finally {
    comparison.close()
    // Says why, also when the comparison has failed: an index that is gone because another generation serves is no failure of Elasticsearch.
    await topics.expectUnchanged()
  }
}

async function readIndices(verification: Verification, indices: Indices, comparison: Comparison): Promise<void> {
  const { elasticsearch, report, team, rest, signal } = verification
  for (const kind of documentKinds) {
    const index = indices[kind]
    const request = { signal, requestTimeout: requestTimeoutMs }
    const { count } = await elasticsearch.count({ index, query: ofTeam(team) }, request)
    let read = 0
    for await (const part of scanDocuments(verification, kind, index)) {
      for (const document of part) {
        comparison.setDocument(document)
        await rest()
      }
      read += part.length
      report.progress(`${kind} read`, read, count)
    }
  }
}

/** A record that Elasticsearch has rejected, or whose content came too late for its revision, is a dead letter like any other. */
async function markDeadLetters({ config, source, rest, signal }: Verification, comparison: Comparison): Promise<void> {
  await source.readTopic({
    ...{ topic: config.TOPIC_DEAD_LETTERS, signal },
    onRecord: async (record) => {
      const { topic, partition, offset, key } = readDeadLetter(record)
      if (key !== null && documentTopics(config).includes(topic))
        comparison.markDeadLetter(entityTypeIn(topic, config), key.toString('latin1'), partition, offset)
      await rest()
    },
  })
}
