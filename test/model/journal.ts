import type { HistoryRecord } from '../support/randomHistory.ts'

export type Topic = HistoryRecord['topic']

/** The revision of a deletion, above every other one, because deletions are final. */
export const gone = Number.MAX_SAFE_INTEGER

/** A record in Kafka; one that breaks the contract has no revision. */
export type Entry = {
  readonly topic: Topic
  /** `<team>/<id>` */
  readonly key: string
  readonly partition: number
  readonly offset: bigint
  readonly atMs: number
  readonly revision: number | undefined
}

/** All appended records: the truth for documents, answers, commits and watermarks. */
export class Journal<Kind extends Entry = Entry> {
  readonly entries: Kind[] = []

  /** Key → the entity's revision after the entries for which `counts` is true. */
  revisions(topic: Topic, counts: (entry: Kind) => boolean = () => true): Map<string, number> {
    const revisions = new Map<string, number>()
    for (const entry of this.entries)
      if (entry.topic === topic && entry.revision !== undefined && counts(entry))
        revisions.set(entry.key, Math.max(entry.revision, revisions.get(entry.key) ?? 0))
    return revisions
  }

  lastAppendMs(): number {
    return this.entries.reduce((latest, { atMs }) => Math.max(latest, atMs), 0)
  }
}

/** A record to append; a dead letter has no revision. */
export type Draft = HistoryRecord & { readonly revision: number | undefined }

/** The name of an entity across topics. */
export const entityOf = (topic: Topic, key: string): string => `${topic} ${key}`

const placeOf = ({ topic, partition, offset }: Entry): string => `${topic}/${partition}/${offset}`

/** Identifies a record without its offset: an unacknowledged send may have been appended, and is retried. */
export const bytesOf = (topic: string, key: Buffer | null, value: Buffer | null): string =>
  `${topic} ${key?.toString('base64') ?? '-'} ${value?.toString('base64') ?? '-'}`

/** Everything ever sent to a real Kafka, even if unacknowledged, as that may have been appended. */
export class SentJournal extends Journal {
  /** Topic, partition and offset → bytes of a record that breaks the contract. */
  readonly deadLetters = new Map<string, string>()
  readonly deadLetterBytes = new Set<string>()
  /** Entity → its newest record. */
  readonly #newest = new Map<string, Draft>()
  readonly #sent = new Map<string, number>()
  #changed = new Set<string>()

  send(drafts: readonly Draft[]): void {
    for (const { topic, key, value, revision } of drafts) {
      if (revision === undefined) this.deadLetterBytes.add(bytesOf(topic, key, value))
      else this.#sent.set(entityOf(topic, String(key)), Math.max(revision, this.highestSent(topic, String(key))))
    }
  }

  acknowledge(draft: Draft, place: Pick<Entry, 'partition' | 'offset' | 'atMs'>): Entry {
    const { topic, key, value, revision } = draft
    const entry = { topic, key: String(key), revision, ...place }
    this.entries.push(entry)
    if (revision === undefined) {
      this.deadLetters.set(placeOf(entry), bytesOf(topic, key, value))
      return entry
    }
    const entity = entityOf(topic, entry.key)
    this.#changed.add(entity)
    if (revision > (this.#newest.get(entity)?.revision ?? 0)) this.#newest.set(entity, draft)
    return entry
  }

  /** The highest revision of an entity that may be in Kafka; 0 if never sent. */
  highestSent(topic: Topic, key: string): number {
    return this.#sent.get(entityOf(topic, key)) ?? 0
  }

  /** The newest record of every entity; their fold is the fold of all records. */
  newest(): readonly Draft[] {
    return [...this.#newest.values()]
  }

  /** Entities with records since the last call. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed
    this.#changed = new Set()
    return changed
  }
}
