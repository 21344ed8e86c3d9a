import { type Instant, toInstant } from '../../src/core/model/instant.ts'
import { type Change, readFormRecord, readSubmissionRecord } from '../../src/core/model/record.ts'
import type { Result } from '../../src/core/model/result.ts'
import { type DocumentWrite, formWrites, submissionWrites } from '../../src/core/stores/documents.ts'
import { type DocumentKind, type Indices, writeAliasOf } from '../../src/core/stores/indices.ts'

/**
 * Encodes one bulk request that asks the shard of each document whether it takes documents now, and changes nothing. It writes an ordinary
 * document under an id that none has, on condition that it was written before: a shard that works answers with a version conflict.
 */
export const encodeProbes = (indices: Indices, documents: readonly DocumentWrite[]): Buffer =>
  Buffer.from(
    documents
      .map(({ kind, teamId }) => {
        const written = { if_seq_no: 0, if_primary_term: 1 }
        const action = { _index: writeAliasOf(indices[kind]), _id: probeId, routing: teamId, ...written }
        return `${JSON.stringify({ index: action })}\n${sources.get(kind)}\n`
      })
      .join(''),
  )

/** Every id of a document has a `/` in it. */
const probeId = 'probe'

const at = toInstant(0)
const key = Buffer.from('team/probe')
const form = { id: 'probe', title: 'A form', scene: 'knowledge_quiz', createdAt: at, updatedAt: at }
const submission = { id: 'probe', formId: 'f', submittedAt: at, updatedAt: at, result: { status: 'completed' } }

/** Documents as every release makes them, so that an index with other mappings refuses them. */
const sources: ReadonlyMap<DocumentKind, Buffer> = new Map(
  [
    ...writesOf(readFormRecord(key, recordOf({ form })), formWrites),
    ...writesOf(readSubmissionRecord(key, recordOf({ submission })), submissionWrites),
  ].map(({ kind, source }) => [kind, source]),
)

function recordOf(entity: object): Buffer {
  return Buffer.from(JSON.stringify({ revision: 1, ...entity }))
}

function writesOf<Entity>(
  read: Result<Change<Entity>>,
  writes: (change: Change<Entity>, changedAt: Instant) => DocumentWrite[],
): DocumentWrite[] {
  if (!read.ok) throw new Error(`the sample of the probe is refused: ${read.problem.path} ${read.problem.rule}`)
  return writes(read.value, at)
}
