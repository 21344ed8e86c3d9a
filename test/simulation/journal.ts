import { type Entry, gone, Journal } from '../model/journal.ts'
import { servedFormSummary, servedSubmissionSummary } from '../support/served.ts'
import { type DocumentTopic, failingKey } from './history.ts'

/** A record of a form or submission that the product has appended. */
export type Appended = Entry & { readonly value: string | null }

/** All that was appended in a simulation, which is the truth that everything else is compared with. */
export class SimulatedJournal extends Journal<Appended> {
  /** `<topic> <key> <revision>` → the summary that the API serves. */
  readonly #summaries = new Map<string, object>()
  /** Keys, by topic, of which Kafka has forgotten everything before an indexer has committed their deletion. */
  readonly #forgotten: Readonly<Record<DocumentTopic, Set<string>>> = { forms: new Set(), submissions: new Set() }

  /** What Elasticsearch fails at counts as what breaks the contract. */
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

  /** Whether a record has the highest revision of its entity, and another content than the first record with it. */
  isRepeatedRevision({ topic, key, value, revision, offset }: Appended): boolean {
    const others = this.entries.filter(
      (each) => each.topic === topic && each.key === key && each.revision !== undefined,
    )
    const first = others.find((each) => each.revision === revision)
    const isHighest = others.every((each) => (each.revision ?? 0) <= (revision ?? 0))
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

  /** The summary of an entity's state; undefined if there was no such state. */
  summary(topic: DocumentTopic, key: string, revision: number): object | undefined {
    return this.#summaries.get(`${topic} ${key} ${revision}`)
  }

  /** What a client must hold that follows a list of a team: id → summary. */
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

/** The revision that a served summary tells; histories write it there. */
export const revisionIn = (item: { readonly title?: string; readonly serialNumber?: number }): number =>
  item.serialNumber ?? Number(item.title?.slice('revision '.length))
