import type { Client } from '@elastic/elasticsearch'
import type { Config } from '../../src/core/config/config.ts'
import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import { type CheckOutcome, failed, passed } from '../../src/core/monitoring/health.ts'
import type { RedisConnection } from '../../src/core/redis/redis.ts'
import { readServing, setServing } from '../../src/core/redis/serving.ts'
import type { RoundReply } from '../../src/core/redis/visiblePositions.ts'
import type { RoundResult } from '../progressPublisher.ts'
import { chooseGeneration } from './chooseGeneration.ts'
import { finishSwitch } from './finishSwitch.ts'
import { type Generation, readTag } from './generation.ts'
import { Generations } from './generations.ts'

export type Stores = { readonly config: Config; readonly elasticsearch: Client; readonly redis: RedisConnection }

/** In the commits of live indexers (`own`), and of rebuilds (`ofRebuild`). */
type CommittedTags = Readonly<Record<'own' | 'ofRebuild', readonly (string | undefined)[]>>

const requestTimeoutMs = 30_000

/**
 * The generation that this indexer writes. If the former one was lost (deleted, or restored from an older snapshot), it is a new one, which does not serve
 * until all partitions are read to the ends that they had at the assignment.
 */
export class WrittenGeneration {
  readonly generation: Generation
  readonly #redis: RedisConnection
  readonly #generations: Generations
  readonly #servingAtOpen: GenerationTag | undefined
  readonly #left = new AbortController()
  /** Aborts once this indexer must write another generation. */
  readonly left = this.#left.signal
  /** Not serving yet: readers may have seen records in the former generation that this one lacks. */
  #isBuilding: boolean
  /** Epoch ms; undefined without a watermark. */
  watermarkMs: number | undefined

  private constructor(stores: Stores, generations: Generations, chosen: ChosenGeneration) {
    this.#redis = stores.redis
    this.#generations = generations
    this.generation = chosen.generation
    this.#servingAtOpen = chosen.servingTag
    this.#isBuilding = !chosen.coversWatermark && !chosen.generation.isServing
  }

  /**
   * Finds the generation to write (`chooseGeneration`), or creates one. Rejects if the mappings are of another release. Several processes may call it at once.
   */
  static async open(stores: Stores, committed: CommittedTags, signal: AbortSignal): Promise<WrittenGeneration> {
    const generations = new Generations(stores.elasticsearch, stores.config, {
      signal,
      requestTimeout: requestTimeoutMs,
    })
    const chosen = await findOrCreate(stores, generations, committed)
    const { number, hasCurrentMappings, hasWriteAliases, isServing } = chosen.generation
    if (!hasCurrentMappings)
      throw new Error(
        `generation ${number} has mappings of another release, or of another INDEX_ANSWERS: \`npm run rebuild\` with ours builds indices for it`,
      )
    if (!hasWriteAliases) await generations.restoreWriteAliases(chosen.generation)
    const opened = new WrittenGeneration(stores, generations, chosen)
    if (!isServing && chosen.coversWatermark) await opened.#serve()
    else await opened.#adopt(chosen.servingTag)
    return opened
  }

  health(): CheckOutcome {
    return this.#isBuilding ? failed(`generation ${this.generation.number} is being built from Kafka`) : passed
  }

  /** Whether its indices and aliases exist, and no other generation serves. If not, `left` aborts. */
  async isCurrent(): Promise<boolean> {
    const isBuilding = this.#isBuilding
    const generations = (await this.#generations.find()).flatMap(({ complete }) => complete ?? [])
    const own = generations.find(({ tag }) => tag === this.generation.tag)
    // False also if only the read aliases are lost: then the generation is opened again, which restores them.
    const servesOrIsBuilt = own?.isServing === true || (isBuilding && !generations.some(({ isServing }) => isServing))
    if (!servesOrIsBuilt || !own?.hasWriteAliases) this.#left.abort()
    if (own?.isServing) this.#isBuilding = false
    return !this.left.aborted
  }

  /**
   * Acts on the reply of Redis to a round (one publication of positions and list versions):
   * - the generation is complete now: makes it serve;
   * - Redis names no generation, or a lower one after it has fallen back: makes Redis name this one;
   * - another generation serves: resolves with `retired`, which ends the pipeline.
   */
  async afterRound({ outcome, serving, watermarkMs }: RoundReply): Promise<RoundResult> {
    if (outcome !== 'locked') this.watermarkMs = watermarkMs
    const anotherServes = serving !== undefined && serving !== this.generation.tag
    const hasFallenBack = anotherServes && this.#isAbove(serving)
    if (anotherServes && !hasFallenBack) this.#left.abort()
    const mayServe = outcome === 'complete' && this.#isBuilding
    const isToBeNamed = serving === undefined || hasFallenBack || mayServe
    const expected = hasFallenBack ? serving : this.#servingAtOpen
    if (isToBeNamed && (await this.isCurrent())) await (mayServe ? this.#serve() : this.#adopt(expected))
    return this.left.aborted ? 'retired' : 'continue'
  }

  #isAbove(serving: GenerationTag): boolean {
    const id = readTag(serving)
    return id !== undefined && !this.#isBuilding && id.number < this.generation.number
  }

  async #serve(): Promise<void> {
    await this.#generations.serve(this.generation)
    this.#isBuilding = false
    await this.#adopt(this.#servingAtOpen)
  }

  /**
   * Names this generation in Redis as the serving one: from then on, requests use its indices, positions and list versions. Rejects if Redis names a third
   * generation, neither this one nor `expected`: another process has made that one serve meanwhile.
   */
  async #adopt(expected: GenerationTag | undefined): Promise<void> {
    await setServing(this.#redis, this.generation.tag, expected ?? '')
  }
}

type ChosenGeneration = {
  readonly generation: Generation
  /** Undefined if Redis named none. */
  readonly servingTag: GenerationTag | undefined
  /** Whether it has every record below the present watermark. */
  readonly coversWatermark: boolean
}

async function findOrCreate(
  { redis }: Stores,
  generations: Generations,
  committed: CommittedTags,
): Promise<ChosenGeneration> {
  // Read first: if a rebuild switches after this line, `#adopt` finds another name than `servingTag` in Redis, and does not make the former generation serve
  // again.
  const servingTag = await readServing(redis)
  const present = await finishSwitch(generations, servingTag)
  const ids = [servingTag, ...committed.own].flatMap((tag) => readTag(tag) ?? [])
  const newest = ids.toSorted((a, b) => b.number - a.number)[0]
  const { number, complete } = chooseGeneration(present, newest)
  const generation = complete ?? (await generations.create(number))
  await generations.expectOwnSettings(generation)
  // The commits of a rebuild count only after its switch: before, its generation may lack records that live indexers have read.
  const tags = [servingTag, ...committed.own, ...(generation.isServing ? committed.ofRebuild : [])]
  // Before the first generation, there is no watermark.
  const isFirst = newest === undefined && !present.some(({ complete }) => complete?.hasServed)
  const coversWatermark = isFirst || (generation.hasServed && tags.includes(generation.tag))
  return { generation, servingTag, coversWatermark }
}
