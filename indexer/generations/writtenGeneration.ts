import type { Client } from '@elastic/elasticsearch'
import type { Config } from '../../src/core/config/config.ts'
import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import type { RedisConnection } from '../../src/core/redis/redis.ts'
import { readServing, setServing } from '../../src/core/redis/serving.ts'
import type { RoundPublished } from '../../src/core/redis/visiblePositions.ts'
import type { RoundResult } from '../visibilityPublisher.ts'
import { chooseGeneration } from './chooseGeneration.ts'
import { finishSwitch } from './finishSwitch.ts'
import { type Generation, readTag } from './generation.ts'
import { Generations } from './generations.ts'

export type Stores = { readonly config: Config; readonly elasticsearch: Client; readonly redis: RedisConnection }

/** The generations that the commits of the indexers' group and of the rebuilds' group for the document topics name. */
type Committed = Readonly<Record<'own' | 'rebuilt', readonly (string | undefined)[]>>

const timeoutMs = 30_000

/**
 * The generation that this indexer writes and publishes. One that was lost (deleted, or restored from an older snapshot) is built again from
 * Kafka: it has no watermark, and serves once the positions of all partitions are published, which is at the ends that they had when it was
 * assigned to them.
 */
export class WrittenGeneration {
  readonly generation: Generation
  readonly #redis: RedisConnection
  readonly #generations: Generations
  /** The generation that Redis named when this one was opened. */
  readonly #adoptedBefore: GenerationTag | undefined
  readonly #left = new AbortController()
  /** Aborts, for good, once a look shows that it is not the generation to write. */
  readonly left = this.#left.signal
  /** Nobody reads it, because it may lack what another one had promised. */
  #isBuilding: boolean
  /** The watermark as it was last published. */
  watermarkMs: number | undefined

  private constructor(stores: Stores, generations: Generations, own: Own) {
    this.#redis = stores.redis
    this.#generations = generations
    this.generation = own.generation
    this.#adoptedBefore = own.adopted
    this.#isBuilding = !own.holdsPromised && !own.generation.isServing
  }

  /**
   * Finds the generation to write, or creates one. Completes a switch whose rebuild has died before it moved the aliases. Rejects when the mappings
   * are of another release. Safe to call from several processes at once.
   */
  static async open(stores: Stores, committed: Committed, signal: AbortSignal) {
    const generations = new Generations(stores.elasticsearch, stores.config, { signal, requestTimeout: timeoutMs })
    const own = await findOwn(stores, generations, committed)
    const { number, hasCurrentMappings, hasWriteAliases, isServing } = own.generation
    if (!hasCurrentMappings)
      throw new Error(
        `generation ${number} has mappings of another release, or of another INDEX_ANSWERS: \`npm run rebuild\` with ours builds indices for it`,
      )
    if (!hasWriteAliases) await generations.restoreWriteAliases(own.generation)
    const opened = new WrittenGeneration(stores, generations, own)
    await (isServing || !own.holdsPromised ? opened.#adopt(own.adopted) : opened.#serve())
    return opened
  }

  /** Why readers do not read this generation; undefined while they do. */
  notServingReason(): string | undefined {
    return this.#isBuilding ? `generation ${this.generation.number} is being built from Kafka` : undefined
  }

  /** Whether it is still the generation to write: its indices and their aliases exist, and no other generation serves. */
  async isCurrent(): Promise<boolean> {
    const isBuilding = this.#isBuilding
    const found = (await this.#generations.find()).flatMap(({ complete }) => complete ?? [])
    const own = found.find(({ tag }) => tag === this.generation.tag)
    // Where nobody reads what is not being built, the read aliases were removed: opening the generation again restores them.
    const isRead = own?.isServing === true || (isBuilding && !found.some(({ isServing }) => isServing))
    if (!isRead || !own?.hasWriteAliases) this.#left.abort()
    // Another indexer may have made it serve.
    if (own?.isServing) this.#isBuilding = false
    return !this.left.aborted
  }

  /** Acts on what came of a round of publishing: makes a generation serve that is complete, and leaves one that is retired. */
  async afterRound({ outcome, serving, watermarkMs }: RoundPublished): Promise<RoundResult> {
    if (outcome !== 'locked') this.watermarkMs = watermarkMs
    const isOther = serving !== undefined && serving !== this.generation.tag
    const hasFallenBack = isOther && this.#isAbove(serving)
    if (isOther && !hasFallenBack) this.#left.abort()
    const mayServe = outcome === 'complete' && this.#isBuilding
    if ((serving === undefined || hasFallenBack || mayServe) && (await this.isCurrent()))
      await (mayServe ? this.#serve() : this.#adopt(hasFallenBack ? serving : this.#adoptedBefore))
    return this.left.aborted ? 'retired' : 'continue'
  }

  /** Whether it is served, and Redis names one before it: Redis has fallen back to an older state. */
  #isAbove(serving: GenerationTag): boolean {
    const named = readTag(serving)
    return named !== undefined && !this.#isBuilding && named.number < this.generation.number
  }

  /** Points the read aliases to the generation, and adopts it. */
  async #serve(): Promise<void> {
    await this.#generations.serve(this.generation)
    this.#isBuilding = false
    await this.#adopt(this.#adoptedBefore)
  }

  /** Has requests read its positions and versions, and search its indices, if Redis still names the generation `instead`, or none. */
  async #adopt(instead: GenerationTag | undefined): Promise<void> {
    await setServing(this.#redis, this.generation.tag, instead ?? '')
  }
}

type Own = Awaited<ReturnType<typeof findOwn>>

/** The generation to write, whether it holds all that was promised of the last one, and which one Redis names now (`adopted`). */
async function findOwn({ redis }: Stores, generations: Generations, committed: Committed) {
  // Read first: a rebuild that switches later changes it, so that an indexer which was frozen meanwhile cannot adopt what served before.
  const adopted = await readServing(redis)
  const found = await finishSwitch(generations, adopted)
  const known = [adopted, ...committed.own].flatMap((tag) => readTag(tag) ?? [])
  const newest = known.toSorted((a, b) => b.number - a.number)[0]
  const { number, complete } = chooseGeneration(found, newest)
  const generation = complete ?? (await generations.create(number))
  await generations.expectOwnSettings(generation)
  // A rebuild that has not switched yet may lack what indexers have read since.
  const tags = [adopted, ...committed.own, ...(generation.isServing ? committed.rebuilt : [])]
  const isFirst = newest === undefined && !found.some((each) => each.complete?.hasServed)
  return { generation, adopted, holdsPromised: isFirst || (generation.hasServed && tags.includes(generation.tag)) }
}
