import type { HistoryRecord } from '../support/randomHistory.ts'

/** Above every revision: an entity that was deleted stays so. */
export const gone = Number.POSITIVE_INFINITY

/** A record to append, with what the soak knows of it beforehand; poison has no revision. */
export type Draft = HistoryRecord & { readonly revision: number | undefined }

/** A record that Kafka acknowledged, at its place. */
export type Entry = {
  readonly topic: HistoryRecord['topic']
  readonly key: string
  readonly revision: number | undefined
  readonly partition: number
  readonly offset: bigint
  readonly atMs: number
}

/** An entity of a topic, by one name. */
export const entityOf = (topic: HistoryRecord['topic'], key: string): string => `${topic} ${key}`

export const placeOf = ({ topic, partition, offset }: Pick<Entry, 'topic' | 'partition' | 'offset'>): string =>
  `${topic}/${partition}/${offset}`

/** A record whatever its place: a send that was not acknowledged may have been appended, and is sent again. */
export const bytesOf = (topic: string, key: Buffer | null, value: Buffer | null): string =>
  `${topic} ${key?.toString('base64') ?? '-'} ${value?.toString('base64') ?? '-'}`

/** Everything that was ever sent to the topics. What was not acknowledged is known, too: it may have been appended. */
export class Journal {
  readonly entries: Entry[] = []
  /** Place → the bytes of a record that breaks the contract. */
  readonly poison = new Map<string, string>()
  readonly poisonBytes = new Set<string>()
  /** Entity → the record that all others of it are older than. */
  readonly #newest = new Map<string, Draft>()
  readonly #sent = new Map<string, number>()
  #changed = new Set<string>()

  send(drafts: readonly Draft[]): void {
    for (const { topic, key, value, revision } of drafts) {
      if (revision === undefined) this.poisonBytes.add(bytesOf(topic, key, value))
      else this.#sent.set(entityOf(topic, String(key)), Math.max(revision, this.highestSent(topic, String(key))))
    }
  }

  acknowledge(draft: Draft, place: Pick<Entry, 'partition' | 'offset' | 'atMs'>): Entry {
    const { topic, key, value, revision } = draft
    const entry = { topic, key: String(key), revision, ...place }
    this.entries.push(entry)
    if (revision === undefined) {
      this.poison.set(placeOf(entry), bytesOf(topic, key, value))
      return entry
    }
    const entity = entityOf(topic, entry.key)
    this.#changed.add(entity)
    if (revision > (this.#newest.get(entity)?.revision ?? 0)) this.#newest.set(entity, draft)
    return entry
  }

  /** The highest revision that may be in Kafka; 0 for an entity that was never sent. */
  highestSent(topic: HistoryRecord['topic'], key: string): number {
    return this.#sent.get(entityOf(topic, key)) ?? 0
  }

  /** A fold of these is a fold of all. */
  newest(): readonly Draft[] {
    return [...this.#newest.values()]
  }

  lastAppendMs(): number {
    return this.entries.reduce((latest, { atMs }) => Math.max(latest, atMs), 0)
  }

  /** Entities of records since this was asked last. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed
    this.#changed = new Set()
    return changed
  }

  /** Entity → the highest revision among the entries that `counts` names. */
  highest(counts: (entry: Entry) => boolean): Map<string, number> {
    const highest = new Map<string, number>()
    for (const entry of this.entries) {
      if (entry.revision === undefined || !counts(entry)) continue
      const entity = entityOf(entry.topic, entry.key)
      highest.set(entity, Math.max(entry.revision, highest.get(entity) ?? 0))
    }
    return highest
  }
}
