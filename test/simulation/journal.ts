import { deletedRevision } from '../../src/core/model/ids.ts'
import { servedFormSummary, servedSubmissionSummary } from '../support/served.ts'
import { type DocumentTopic, failingKey } from './history.ts'

/** A record of a form or submission that the product has appended. */
export type Appended = {
  readonly topic: DocumentTopic
  /** `<team>/<id>` */
  readonly key: string
  readonly value: string | null
  readonly partition: number
  readonly offset: bigint
  readonly appendedAtMs: number
  /** What documents of this state have as version; undefined where the record breaks the contract, or Elasticsearch fails at it. */
  readonly version: number | undefined
}

/** All that was appended, which is the truth that everything else is compared with. */
export class Journal {
  readonly #records: Appended[] = []
  /** `<topic> <key> <version>` → the summary that the API serves. */
  readonly #summaries = new Map<string, object>()

  /** Keys, by topic, of which Kafka has forgotten everything before an indexer has committed their deletion. */
  readonly #forgotten: Readonly<Record<DocumentTopic, Set<string>>> = { forms: new Set(), submissions: new Set() }

  get records(): readonly Appended[] {
    return this.#records
  }

  add(record: Omit<Appended, 'version'>): void {
    const version = record.key === failingKey ? undefined : versionOf(record.value)
    this.#records.push({ ...record, version })
    if (record.value === null || version === undefined) return
    const { form, submission } = JSON.parse(record.value)
    const summary = form === undefined ? servedSubmissionSummary(submission) : servedFormSummary(form)
    const name = `${record.topic} ${record.key} ${version}`
    // Of two states with one revision, the first one stays.
    if (!this.#summaries.has(name)) this.#summaries.set(name, summary)
  }

  /** The version that each entity of a topic has once these records are applied, by key. */
  versions(topic: DocumentTopic, applies: (record: Appended) => boolean = () => true): Map<string, number> {
    const versions = new Map<string, number>()
    for (const record of this.#records)
      if (record.topic === topic && record.version !== undefined && applies(record))
        versions.set(record.key, Math.max(versions.get(record.key) ?? 0, record.version))
    return versions
  }

  /** Whether a record has the highest revision of its entity, and another content than the first record with it. */
  isRepeatedRevision({ topic, key, value, version, offset }: Appended): boolean {
    const others = this.#records.filter(
      (each) => each.topic === topic && each.key === key && each.version !== undefined,
    )
    const first = others.find((each) => each.version === version)
    const isHighest = others.every((each) => (each.version ?? 0) <= (version ?? 0))
    return isHighest && first !== undefined && first.offset < offset && first.value !== value
  }

  forget({ topic, key }: Appended): void {
    this.#forgotten[topic].add(key)
  }

  forgottenKeys(topic: DocumentTopic): ReadonlySet<string> {
    return this.#forgotten[topic]
  }

  isDeleted(topic: DocumentTopic, key: string): boolean {
    return this.#records.some((record) => record.topic === topic && record.key === key && record.value === null)
  }

  /** The summary of an entity's state; undefined if there was no such state. */
  summary(topic: DocumentTopic, key: string, version: number): object | undefined {
    return this.#summaries.get(`${topic} ${key} ${version}`)
  }

  lastAppendedAtMs(): number {
    return Math.max(0, ...this.#records.map(({ appendedAtMs }) => appendedAtMs))
  }
}

function versionOf(value: string | null): number | undefined {
  if (value === null) return deletedRevision
  const { revision, form, submission } = JSON.parse(value)
  return form === undefined && submission === undefined ? undefined : revision
}

/** The revision that a served summary tells; histories write it there. */
export const revisionIn = (item: { readonly title?: string; readonly serialNumber?: number }): number =>
  item.serialNumber ?? Number(item.title?.slice('revision '.length))
