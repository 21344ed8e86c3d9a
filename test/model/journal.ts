import type { HistoryRecord } from '../support/randomHistory.ts'

export type Topic = HistoryRecord['topic']

/** The revision of a deletion, above every other one: an entity that was deleted stays so. */
export const gone = Number.MAX_SAFE_INTEGER

/** A record that Kafka holds, at its place; one that breaks the contract has no revision. */
export type Entry = {
  readonly topic: Topic
  /** `<team>/<id>` */
  readonly key: string
  readonly partition: number
  readonly offset: bigint
  readonly atMs: number
  readonly revision: number | undefined
}

/** All that was appended: the truth that documents, answers, commits and watermarks are held against. */
export class Journal<Kind extends Entry = Entry> {
  readonly entries: Kind[] = []

  /** Key → the revision that its entity has once the entries that count are applied. */
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

/** A record to append, with what is known of it beforehand; a dead letter has no revision. */
export type Draft = HistoryRecord & { readonly revision: number | undefined }

/** An entity of a topic, by one name. */
export const entityOf = (topic: Topic, key: string): string => `${topic} ${key}`

const placeOf = ({ topic, partition, offset }: Entry): string => `${topic}/${partition}/${offset}`

/** A record whatever its place: a send that was not acknowledged may have been appended, and is sent again. */
export const bytesOf = (topic: string, key: Buffer | null, value: Buffer | null): string =>
  `${topic} ${key?.toString('base64') ?? '-'} ${value?.toString('base64') ?? '-'}`

/** Everything that was ever sent to a real Kafka. What was not acknowledged is known, too: it may have been appended. */
export class SentJournal extends Journal {
  /** Place → the bytes of a record that breaks the contract. */
  readonly deadLetters = new Map<string, string>()
  readonly deadLetterBytes = new Set<string>()
  /** Entity → the record that all others of it are older than. */
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

  /** The highest revision that may be in Kafka; 0 for an entity that was never sent. */
  highestSent(topic: Topic, key: string): number {
    return this.#sent.get(entityOf(topic, key)) ?? 0
  }

  /** A fold of these is a fold of all. */
  newest(): readonly Draft[] {
    return [...this.#newest.values()]
  }

  /** Entities of records since this was asked last. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed
    this.#changed = new Set()
    return changed
  }
}
