import { hash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { isTombstone } from '../../src/core/elasticsearch/documentFormat.ts'
import { type DocumentKind, documentKinds, entityTypeOf, isList } from '../../src/core/elasticsearch/indices.ts'
import type { StoredDocument } from '../../src/core/elasticsearch/readDocuments.ts'
import { withoutRepeatedNames } from '../../src/core/json/rawJson.ts'
import { type DocumentId, deletedRevision, type EntityType, type Revision } from '../../src/core/model/ids.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import { type DocumentWrite, withNamesOnce } from '../convertRecord.ts'
import type { Difference, Mismatch } from './differenceReport.ts'

type Content = {
  /** Of the source without time of change and position. */
  readonly digest: Buffer
  /** Epoch ms: `changedAt` of a list document, or `deletedAt` of a tombstone; null for a live detail document. */
  readonly changedAtMs: number | null
  /** 1 or 0, for SQLite. */
  readonly isTombstone: number
}

export type ComparedDocument = Content & {
  readonly kind: DocumentKind
  readonly id: DocumentId
  readonly version: number
}

export const comparedOf = (kind: DocumentKind, { id, version, source }: StoredDocument): ComparedDocument => ({
  kind,
  id,
  version,
  ...contentOf(kind, Buffer.from(source)),
})

const digestBytes = 16
const instantLength = '2026-11-21T10:00:00.000Z'.length
/** Matches `","logPosition":42` after the time of a live document, and `"},"logPosition":42` after that of a tombstone. */
const positionAfterTime = /^("\}?),"logPosition":\d+/
const maxPositionLength = 40

/**
 * Digests the source of a document (half a SHA-256), without the time of change and the position: two right indices may differ in these, if a producer has
 * appended one state twice. The time is compared separately (`changedAtLeast` in committedTopics.ts).
 */
export function contentOf(kind: DocumentKind, source: Buffer): Content {
  const isDeleted = isTombstone(source)
  const memberOfTime = isDeleted ? '"deletedAt":"' : '"changedAt":"'
  // The first match is this member: the record's text comes after it. A live detail document has no such member, and may have any text.
  const memberIndex = isDeleted || isList(kind) ? source.indexOf(memberOfTime) : -1
  const timeStart = memberIndex + memberOfTime.length
  const timeEnd = timeStart + instantLength
  const changedAtMs = memberIndex === -1 ? Number.NaN : Date.parse(source.toString('latin1', timeStart, timeEnd))
  const hasTime = !Number.isNaN(changedAtMs)
  const digested = hasTime
    ? Buffer.concat([source.subarray(0, timeStart), withoutPosition(source.subarray(timeEnd))])
    : source
  return {
    digest: hash('sha256', digested, 'buffer').subarray(0, digestBytes),
    changedAtMs: hasTime ? changedAtMs : null,
    isTombstone: Number(isDeleted),
  }
}

function withoutPosition(afterTime: Buffer): Buffer {
  const match = positionAfterTime.exec(afterTime.toString('latin1', 0, maxPositionLength))
  if (match === null) return afterTime
  const [matched, beforePosition = ''] = match
  return Buffer.concat([Buffer.from(beforePosition), afterTime.subarray(matched.length)])
}

/** The content as the bulk writer stores it: Elasticsearch rejects repeated JSON names. */
export function storedContentOf(document: DocumentWrite): Content {
  const source = document.source.toString()
  const hasRepeatedNames = withoutRepeatedNames(source) !== source
  return contentOf(document.kind, hasRepeatedNames ? withNamesOnce(document).source : document.source)
}

export type ComparedRecord = {
  readonly type: EntityType
  readonly id: DocumentId
  readonly version: Revision
  readonly partition: number
  readonly offset: bigint
  /** The lowest `changedAt` (epoch ms) that its documents may have. */
  readonly changedAtLeastMs: number
  /** 1 if an indexer has committed the record (the indices must have its state or a newer one), else 0. */
  readonly isCommitted: number
  /** Digests of its documents; null for a dead letter. */
  readonly list: Uint8Array | null
  readonly detail: Uint8Array | null
}

/** The version of a dead letter. Compaction may have removed the older record of its key, from which the entity's documents were made. */
export const deadLetterVersion = 0 as Revision

/** A temporary file without a name need not survive a crash: it has no journal, and its transaction is never committed. REAL stores every JavaScript number. */
const schema = `
  PRAGMA journal_mode = OFF;
  PRAGMA synchronous = OFF;
  PRAGMA cache_size = -16384; -- KiB
  BEGIN;
  CREATE TABLE records (
    type TEXT, id TEXT, partition INTEGER, offset INTEGER,
    version REAL, changedAtLeastMs REAL, isCommitted INTEGER, list BLOB, detail BLOB,
    PRIMARY KEY (type, id, partition, offset)
  ) WITHOUT ROWID;
  CREATE TABLE documents (
    kind TEXT, id TEXT, version REAL, changedAtMs REAL, isTombstone INTEGER, digest BLOB, isInOtherShare INTEGER,
    PRIMARY KEY (kind, id)
  ) WITHOUT ROWID;
`

const entitiesPerPage = 200

/**
 * Compares each document of a kind that is stored or expected with the records of its entity. Its version must be between the highest committed and the highest
 * appended revision: an index may be ahead of the commits. Its content must be that of the record with its version (`expected`). Returns the entities with the
 * lowest ids above `:after`.
 */
const judgement = (digestColumn: 'list' | 'detail'): string => `
  WITH page AS (
    SELECT id FROM documents WHERE kind = :kind AND id > :after
    UNION SELECT id FROM records WHERE type = :type AND id > :after
    ORDER BY id LIMIT ${entitiesPerPage}
  ),
  judged AS (
    SELECT page.id, document.version, document.digest, document.changedAtMs, document.isTombstone, document.isInOtherShare,
      coalesce(max(record.version), 0) AS newest,
      coalesce(max(record.version) FILTER (WHERE record.isCommitted), 0) AS required,
      coalesce(min(record.version) = ${deadLetterVersion}, FALSE) AS hasDeadLetter,
      -- Of two contents under one revision, the first is indexed; the later is a dead letter.
      (SELECT ${digestColumn} FROM records WHERE type = :type AND id = page.id AND version = document.version
        ORDER BY offset LIMIT 1) AS expected
    FROM page
    LEFT JOIN documents AS document ON document.kind = :kind AND document.id = page.id
    LEFT JOIN records AS record ON record.type = :type AND record.id = page.id
    GROUP BY page.id
  ),
  timed AS (
    SELECT *, (SELECT min(changedAtLeastMs) FROM records
      WHERE type = :type AND id = judged.id AND version = judged.version AND ${digestColumn} = expected) AS changedAtLeastMs
    FROM judged
  )
  SELECT id, version, newest, required, changedAtMs, changedAtLeastMs, CASE
    WHEN version IS NULL THEN iif(required > 0, 'missing', NULL)
    WHEN isInOtherShare AND version >= required THEN NULL
    -- The dead letter is a later record with the same key, so that compaction has removed the record of the document.
    WHEN version > newest AND hasDeadLetter THEN NULL
    -- Kafka removes a deletion after delete.retention.ms. Its tombstone stays in the index.
    WHEN newest = 0 THEN iif(isTombstone, NULL, 'unexpected')
    WHEN version < required THEN 'older'
    WHEN version > newest THEN 'newer'
    -- If compaction has removed the record of this version, expected is NULL, and the content cannot be compared.
    WHEN digest <> expected THEN 'content'
    WHEN changedAtMs < changedAtLeastMs THEN 'time'
  END AS problem
  FROM timed ORDER BY id
`

type Row = {
  readonly id: DocumentId
  /** Null if no document is stored. */
  readonly version: number | null
  /** The highest version among the records; 0 if there are none, or only dead letters. */
  readonly newest: number
  /** The same among the committed records. */
  readonly required: number
  readonly changedAtMs: number | null
  readonly changedAtLeastMs: number | null
  readonly problem: Mismatch | null
}

export class DocumentComparison {
  readonly #database = openDatabase()
  readonly #addRecord = this.#database.prepare(
    `INSERT OR REPLACE INTO records
      VALUES (:type, :id, :partition, :offset, :version, :changedAtLeastMs, :isCommitted, :list, :detail)`,
  )
  readonly #setDocument = this.#database.prepare(
    'INSERT OR REPLACE INTO documents VALUES (:kind, :id, :version, :changedAtMs, :isTombstone, :digest, :isInOtherShare)',
  )
  readonly #markDeadLetter = this.#database.prepare(
    `UPDATE records SET version = ${deadLetterVersion} WHERE type = ? AND id = ? AND partition = ? AND offset = ?`,
  )

  addRecord(record: ComparedRecord): void {
    this.#addRecord.run(record)
  }

  /**
   * Adds or replaces a document. `isInOtherShare`: it was made from a record of another share, which compares it. This share has older records, and only
   * requires that the document is not older.
   */
  setDocument(document: ComparedDocument, isInOtherShare = false): void {
    this.#setDocument.run({ ...document, isInOtherShare: Number(isInOtherShare) })
  }

  markDeadLetter(type: EntityType, id: string, partition: string, offset: string): void {
    this.#markDeadLetter.run(type, id, partition, offset)
  }

  count(table: 'documents' | 'records'): number {
    return Number(this.#database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count'])
  }

  /** Also yields pages of entities without differences. */
  *differences(): Generator<{ kind: DocumentKind; mismatches: readonly Difference[] }> {
    for (const kind of documentKinds) {
      const statement = this.#database.prepare(judgement(isList(kind) ? 'list' : 'detail'))
      let after: string | undefined = ''
      while (after !== undefined) {
        const rows = statement.all({ kind, type: entityTypeOf(kind), after }) as Row[]
        yield { kind, mismatches: rows.flatMap((row) => differenceOf(kind, row)) }
        after = rows.length < entitiesPerPage ? undefined : rows.at(-1)?.id
      }
    }
  }

  close(): void {
    this.#database.close()
  }
}

function openDatabase(): DatabaseSync {
  const database = new DatabaseSync('')
  database.exec(schema)
  return database
}

function differenceOf(kind: DocumentKind, row: Row): Difference[] {
  const { id, problem } = row
  if (problem === null) return []
  return [{ kind: isList(kind) ? problem : `${problem}-detail`, id, where: kind, detail: detailOf(row, problem) }]
}

function detailOf({ version, newest, required, changedAtMs, changedAtLeastMs }: Row, problem: Mismatch): string {
  const stored = revisionText(version ?? 0)
  switch (problem) {
    case 'missing':
      return `${revisionText(required)} in the topic`
    case 'unexpected':
      return `${stored} in the index, no record in the topic`
    case 'older':
    case 'newer':
      return `${stored} in the index, ${revisionText(newest)} in the topic`
    case 'content':
      return `${stored} has other bytes than its record`
    case 'time':
      return `${toInstant(changedAtMs ?? 0)}, before ${toInstant(changedAtLeastMs ?? 0)}, when its record was appended`
  }
}

const revisionText = (version: number): string => (version === deletedRevision ? 'a deletion' : `revision ${version}`)
