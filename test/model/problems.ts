import type { Client } from '@elastic/elasticsearch'
import type { Redis } from 'ioredis'
import type { Admin } from 'kafkajs'
import { entityOf, type Journal, type Topic } from './journal.ts'

/** The entity of a problem. */
export type Suspect = { readonly topic: Topic; readonly key: string }

export type Engines = {
  readonly elasticsearch: Client
  readonly redis: Redis
  readonly admin: Admin
  readonly names: Readonly<Record<string, string>>
}

const mostOfOneKind = 3
const mostEntries = 40

/** Problems, each with what Kafka, Elasticsearch and Redis held at that time; only a few of each kind. */
export class Problems {
  readonly found: string[] = []
  /** The present step of the test, for messages. */
  during = 'the start'
  /** Kind → number of problems. */
  readonly counts = new Map<string, number>()
  readonly #journal: Journal
  readonly #engines: Engines | undefined

  /** Without `engines`, problems do not include their data. */
  constructor(journal: Journal, engines?: Engines) {
    this.#journal = journal
    this.#engines = engines
  }

  async add(kind: string, problem: string, suspects: readonly Suspect[] = []): Promise<void> {
    const count = 1 + (this.counts.get(kind) ?? 0)
    this.counts.set(kind, count)
    if (count > mostOfOneKind) return
    const told = [`${kind}: ${problem}`, `  noticed at ${new Date().toISOString()} in ${this.during}`]
    const at = this.found.push(told.join('\n')) - 1
    const engines = this.#engines
    if (engines === undefined) return
    const held = suspects.slice(0, 3).map((each) => this.#held(each, engines))
    const state = await Promise.all([...held, promises(engines)])
    this.found[at] = [...told, ...state].join('\n')
  }

  /** The entity's records in Kafka, and its version in every index. */
  async #held({ topic, key }: Suspect, { elasticsearch, names }: Engines): Promise<string> {
    const entries = this.#journal.entries.filter((each) => entityOf(each.topic, each.key) === entityOf(topic, key))
    const written = entries
      .slice(-mostEntries)
      .map(({ partition, offset, revision, atMs }) => `    ${partition}/${offset} revision ${revision} at ${atMs}`)
    const stored = await told(async () => {
      const asked = { version: true, seq_no_primary_term: true, size: 20, query: { ids: { values: [key] } } }
      const answer = await elasticsearch.search({ ...asked, index: `${names['INDEX_PREFIX']}-*` })
      return answer.hits.hits.map(({ _index, _version, _seq_no }) => ({ _index, _version, _seq_no }))
    })
    return [`  ${topic} ${key} was appended (the last ${mostEntries}):`, ...written, `  found: ${stored}`].join('\n')
  }
}

/** The result of `ask` as text, or why it failed, as during a fault. */
const told = (ask: () => Promise<unknown>): Promise<string> =>
  ask().then(
    (answer) => JSON.stringify(answer),
    (error: Error) => `not to be had: ${error.message}`,
  )

async function promises({ elasticsearch, redis, admin, names }: Engines): Promise<string> {
  const prefix = names['INDEX_PREFIX'] ?? ''
  const topics = [names['TOPIC_FORMS'] ?? '', names['TOPIC_SUBMISSIONS'] ?? '']
  const [watermark, aliases, commits] = await Promise.all([
    told(() => redis.hgetall(`${prefix}:watermark`)),
    told(() => elasticsearch.indices.getAlias({ index: `${prefix}-*` })),
    told(() => admin.fetchOffsets({ groupId: names['CONSUMER_GROUP'] ?? '', topics })),
  ])
  return `  watermark: ${watermark}\n  aliases: ${aliases}\n  commits: ${commits}`
}
