import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { Program } from '../support/programs.ts'
import type { Journal } from './journal.ts'
import type { Engines, Problems } from './problems.ts'
import { ask } from './reader.ts'

const pauseMs = 700
const requestTimeoutMs = 3_000
const everything = 100_000
const topics = ['forms', 'submissions'] as const
/** Nothing can be told while an engine is away. */
const away = Symbol('away')

/**
 * Looks behind the promises while faults last: what is below a committed offset is searchable in the generation that the
 * commit names, and what was appended before a watermark is searchable where readers are led. It searches the indices itself
 * and never refreshes them.
 */
export class Watcher {
  /** How often either promise could be looked at. */
  looks = 0
  readonly #journal: Journal
  readonly #problems: Problems
  readonly #engines: Omit<Engines, 'redis'>

  constructor(journal: Journal, problems: Problems, engines: Omit<Engines, 'redis'>) {
    this.#journal = journal
    this.#problems = problems
    this.#engines = engines
  }

  async run(api: Pick<Program, 'url'>, key: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#lookAtCommits()
      await this.#lookAtWatermark(api, key)
      await sleep(pauseMs)
    }
  }

  async #lookAtCommits(): Promise<void> {
    const { admin, names } = this.#engines
    const prefix = names['INDEX_PREFIX'] ?? ''
    for (const topic of topics) {
      const name = names[`TOPIC_${topic.toUpperCase()}`] ?? ''
      const asked = admin.fetchOffsets({ groupId: names['CONSUMER_GROUP'] ?? '', topics: [name] })
      const answer = await asked.catch(() => away)
      if (typeof answer === 'symbol') return
      for (const [generation, below] of byGeneration(answer[0]?.partitions ?? [])) {
        const promised = this.#journal.revisions(
          topic,
          ({ partition, offset }) => offset < (below.get(partition) ?? 0n),
        )
        const what = `committed in generation ${generation}`
        await this.#expectSearchable(`${prefix}-${topic}-v*-${generation}`, topic, promised, what)
      }
    }
  }

  async #lookAtWatermark(api: Pick<Program, 'url'>, key: string): Promise<void> {
    const answer = await ask(api, key, '/api/v1/forms?limit=1').catch(() => undefined)
    const watermarkMs = Date.parse(answer?.watermark ?? '')
    if (Number.isNaN(watermarkMs)) return
    for (const topic of topics) {
      const promised = this.#journal.revisions(topic, ({ atMs }) => atMs < watermarkMs)
      const alias = `${this.#engines.names['INDEX_PREFIX']}-${topic}`
      await this.#expectSearchable(alias, topic, promised, `appended before the watermark ${answer?.watermark}`)
    }
  }

  async #expectSearchable(
    index: string,
    topic: (typeof topics)[number],
    promised: ReadonlyMap<string, number>,
    what: string,
  ): Promise<void> {
    const found = await versions(this.#engines.elasticsearch, index).catch(() => away)
    if (typeof found === 'symbol' || found === undefined) return
    this.looks++
    const missing = [...promised].filter(([key, revision]) => (found.get(key) ?? 0) < revision)
    if (missing.length === 0) return
    const suspects = missing.map(([key]) => ({ topic, key }))
    const [first] = missing
    const version = found.get(suspects[0]?.key ?? '') ?? 'nothing'
    await this.#problems.add(
      'not searchable',
      `${missing.length} ${what} are not searchable in ${index}: ${first?.join(' at ')} is found at ${version}`,
      suspects,
    )
  }
}

/** Generation → partition → the offset committed as true of it. */
function byGeneration(
  commits: readonly { readonly partition: number; readonly offset: string; readonly metadata: string | null }[],
): Map<string, Map<number, bigint>> {
  const found = new Map<string, Map<number, bigint>>()
  for (const { partition, offset, metadata } of commits) {
    const generation = /^(\d+)-/.exec(metadata ?? '')?.[1]
    if (generation === undefined) continue
    const below = found.get(generation) ?? new Map<number, bigint>()
    found.set(generation, below.set(partition, BigInt(offset)))
  }
  return found
}

/** Document → version of everything that a search finds; undefined when there is no such index. */
async function versions(client: Client, index: string): Promise<Map<string, number> | undefined> {
  const answer = await client.search(
    { index, version: true, _source: false, size: everything, allow_partial_search_results: false },
    { requestTimeout: requestTimeoutMs, maxRetries: 0 },
  )
  if (answer._shards.total === 0) return undefined
  return new Map(answer.hits.hits.map(({ _id, _version }) => [_id ?? '', _version ?? 0]))
}
