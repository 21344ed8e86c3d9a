import type { DocumentKind } from '../../src/core/stores/indices.ts'
import { type DocumentEntry, decodeEntry, kindsOf, placeOf, type RecordEntry } from './entries.ts'
import { judge, type Problem, relevantOf } from './judge.ts'
import type { Spool } from './spool.ts'

/** Records of one entity are compacted in memory when there are so many of them. */
const compactAbove = 64

/** A document that differs from its records, as far as was read. */
export type Suspect = Problem & {
  readonly kind: DocumentKind
  readonly id: DocumentEntry['id']
  readonly records: readonly RecordEntry[]
}

type Entity = {
  readonly type: RecordEntry['type']
  readonly id: RecordEntry['id']
  records: RecordEntry[]
  readonly documents: Map<DocumentKind, DocumentEntry>
}

/** The name under which everything about an entity is spooled. */
export const spoolName = (type: RecordEntry['type'], id: RecordEntry['id']): string => `${type}/${id}`

/** Compares the entities in one bucket: how many there are, and the documents that differ. */
export async function compareBucket(
  spool: Spool,
  bucket: number,
): Promise<{ readonly documents: number; readonly suspects: readonly Suspect[] }> {
  const entities = new Map<string, Entity>()
  const entityOf = (type: RecordEntry['type'], id: RecordEntry['id']): Entity => {
    const name = spoolName(type, id)
    const entity = entities.get(name) ?? { type, id, records: [], documents: new Map() }
    entities.set(name, entity)
    return entity
  }
  for await (const bytes of spool.entries(bucket)) {
    const entry = decodeEntry(bytes)
    if ('record' in entry) {
      const entity = entityOf(entry.record.type, entry.record.id)
      entity.records.push(entry.record)
      if (entity.records.length % compactAbove === 0) entity.records = relevantOf(entity.records)
    } else {
      const { document } = entry
      entityOf(placeOf[document.kind].type, document.id).documents.set(document.kind, document)
    }
  }
  const suspects = [...entities.values()].flatMap(suspectsOf)
  const documents = [...entities.values()].reduce((sum, entity) => sum + entity.documents.size, 0)
  return { documents, suspects }
}

function suspectsOf({ type, id, records, documents }: Entity): Suspect[] {
  const relevant = relevantOf(records)
  return kindsOf(type).flatMap((kind) => {
    const problem = judge(kind, documents.get(kind), relevant)
    return problem === undefined ? [] : [{ kind, id, ...problem, records: relevant }]
  })
}
