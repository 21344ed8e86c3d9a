import { type Entry, gone, Journal } from '../model/journal.ts'
import { servedFormSummary, servedSubmissionSummary } from '../support/served.ts'
import { type DocumentTopic, failingKey } from './history.ts'

/** An appended record of a form or submission. */
export type Appended = Entry & { readonly value: string | null }

/** All records appended in a simulation: the truth for every check. */
export class SimulatedJournal extends Journal<Appended> {
  /** `<topic> <key> <revision>` → the summary that the API serves. */
  readonly #summaries = new Map<string, object>()
  /** Topic → keys whose records Kafka has deleted, the deletion included, before an indexer committed it. */
  readonly #forgotten: Readonly<Record<DocumentTopic, Set<string>>> = { forms: new Set(), submissions: new Set() }

  /** A document that Elasticsearch rejects counts as a record that breaks the contract. */
  add(record: Omit<Appended, 'revision'>): void {
    const revision = record.key === failingKey ? undefined : revisionOf(record.value)
    this.entries.push({ ...record, revision })
    if (record.value === null || revision === undefined) return
    const { form, submission } = JSON.parse(record.value)
    const summary = form === undefined ? servedSubmissionSummary(submission) : servedFormSummary(form)
    const name = `${record.topic} ${record.key} ${revision}`
    // Of two states with one revision, the first one stays.
    if (!this.#summaries.has(name)) this.#summaries.set(name, summary)
  }

  /** Whether a record has the highest revision of its entity, but other content than the first record of that revision. */
  isRepeatedRevision({ topic, key, value, revision, offset }: Appended): boolean {
    const others = this.entries.filter(
      (entry) => entry.topic === topic && entry.key === key && entry.revision !== undefined,
    )
    const first = others.find((entry) => entry.revision === revision)
    const isHighest = others.every((entry) => (entry.revision ?? 0) <= (revision ?? 0))
    return isHighest && first !== undefined && first.offset < offset && first.value !== value
  }

  forget({ topic, key }: Appended): void {
    this.#forgotten[topic].add(key)
  }

  forgottenKeys(topic: DocumentTopic): ReadonlySet<string> {
    return this.#forgotten[topic]
  }

  isDeleted(topic: DocumentTopic, key: string): boolean {
    return this.entries.some((record) => record.topic === topic && record.key === key && record.value === null)
  }

  /** The summary of a revision of an entity; undefined if there is none. */
  summary(topic: DocumentTopic, key: string, revision: number): object | undefined {
    return this.#summaries.get(`${topic} ${key} ${revision}`)
  }

  /** The copy that a follower of a team's list must have: id → summary. */
  truthFor(topic: DocumentTopic, team: string): Map<string, object | undefined> {
    const live = [...this.revisions(topic)].filter(([key, revision]) => key.startsWith(`${team}/`) && revision !== gone)
    return new Map(live.map(([key, revision]) => [key.slice(team.length + 1), this.summary(topic, key, revision)]))
  }
}

function revisionOf(value: string | null): number | undefined {
  if (value === null) return gone
  const { revision, form, submission } = JSON.parse(value)
  return form === undefined && submission === undefined ? undefined : revision
}

/** The revision in a served summary, written there by `nextValue`. */
export const revisionIn = (item: { readonly title?: string; readonly serialNumber?: number }): number =>
  item.serialNumber ?? Number(item.title?.slice('revision '.length))
