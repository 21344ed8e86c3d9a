import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { Program } from '../support/programs.ts'
import type { Entry, Journal } from './journal.ts'
import { fetchAnswer } from './pollingReader.ts'
import type { Engines, Problems } from './problems.ts'

const pauseMs = 700
const requestTimeoutMs = 3_000
const everything = 100_000
const topics = ['forms', 'submissions'] as const

/**
 * Checks promises during faults: records below a committed offset are searchable in the generation of the commit, and records appended before a
 * watermark are searchable behind the read aliases. Searches the indices directly, without refreshing them.
 */
export class Watcher {
  /** The number of completed checks. */
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
    for (const topic of topics) {
      const name = names[`TOPIC_${topic.toUpperCase()}`] ?? ''
      const asked = admin.fetchOffsets({ groupId: names['CONSUMER_GROUP'] ?? '', topics: [name] })
      const answer = await asked.catch(() => undefined)
      if (answer === undefined) return
      for (const [generation, below] of byGeneration(answer[0]?.partitions ?? [])) {
        const isBelow = ({ partition, offset }: Entry): boolean => offset < (below.get(partition) ?? 0n)
        const promised = this.#journal.revisions(topic, isBelow)
        const what = `committed in generation ${generation}`
        await this.#expectSearchable(`${names['INDEX_PREFIX']}-${topic}-v*-${generation}`, topic, promised, what)
      }
    }
  }

  async #lookAtWatermark(api: Pick<Program, 'url'>, key: string): Promise<void> {
    const answer = await fetchAnswer(api, key, '/api/v1/forms?limit=1').catch(() => undefined)
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
    const found = await versions(this.#engines.elasticsearch, index).catch(() => undefined)
    if (found === undefined) return
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

/** Generation → partition → offset committed for that generation. */
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

/** Document id → version of all searchable documents; undefined when the index is missing. */
async function versions(client: Client, index: string): Promise<Map<string, number> | undefined> {
  const answer = await client.search(
    { index, version: true, _source: false, size: everything, allow_partial_search_results: false },
    { requestTimeout: requestTimeoutMs, maxRetries: 0 },
  )
  if (answer._shards.total === 0) return undefined
  return new Map(answer.hits.hits.map(({ _id, _version }) => [_id ?? '', _version ?? 0]))
}
