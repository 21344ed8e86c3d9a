import type { Client } from '@elastic/elasticsearch'
import type { Config } from '../../src/core/process/config.ts'
import type { RedisConnection } from '../../src/core/stores/redis.ts'
import type { RedisKeys } from '../../src/core/stores/redisKeys.ts'
import {
  isWatermarkHeld,
  type PartitionWatermarks,
  publishWatermark,
  readWatermarkGeneration,
  setWatermarkGeneration,
} from '../../src/core/stores/watermark.ts'
import type { Commit } from '../committedOffsets.ts'
import type { RoundEnd } from '../publisher.ts'
import {
  allowWriting,
  chooseGeneration,
  createGeneration,
  findGenerations,
  type Generation,
  type KnownGeneration,
  type RequestOptions,
  readTag,
  serveGeneration,
} from './generations.ts'

export type Stores = {
  readonly config: Config
  readonly elasticsearch: Client
  readonly redis: RedisConnection
  readonly keys: RedisKeys
}

/** What the groups of the indexers and of rebuilds have committed for the document topics. */
export type GroupCommits = { readonly own: Iterable<Commit>; readonly rebuilt: Iterable<Commit> }

const timeoutMs = 30_000

/**
 * The generation of indices that this indexer writes and promises. One that was lost (deleted, restored from an older state) is
 * built anew from Kafka: the watermark is withdrawn, and readers are led to it, once it holds everything appended before the
 * building began.
 */
export class ServedGeneration {
  readonly generation: Generation
  readonly #stores: Stores
  readonly #options: RequestOptions
  /** Set while the generation does not hold yet what was promised before. */
  #floorMs: number | undefined
  #isServing: boolean
  #watermarkMs: number | undefined

  private constructor(stores: Stores, generation: Generation, floorMs: number | undefined, options: RequestOptions) {
    this.#stores = stores
    this.generation = generation
    this.#floorMs = floorMs
    this.#isServing = generation.isServing
    this.#options = options
  }

  /**
   * Finds the generation to write, or creates one. Rejects when its mappings are of another release; safe to call from several
   * processes at once.
   */
  static async open(
    stores: Stores,
    commits: GroupCommits,
    clock: () => number,
    signal: AbortSignal,
  ): Promise<ServedGeneration> {
    const { config, elasticsearch, redis, keys } = stores
    const options = { signal, requestTimeout: timeoutMs }
    const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, options)
    const adopted = await readWatermarkGeneration(redis, keys)
    const written = [...commits.own].map(({ generation }) => generation)
    const newest = newestOf([adopted, ...written])
    const { number, isThere } = chooseGeneration(found, newest)
    const generation =
      (isThere ? found.find((each) => each.number === number)?.complete : undefined) ??
      (await createGeneration(elasticsearch, config, number, options))
    if (!generation.isOurs)
      throw new Error(
        `generation ${number} has mappings of another release: \`npm run rebuild\` of this release builds indices for it`,
      )
    const rebuilt = [...commits.rebuilt].map((commit) => commit.generation)
    const isKnown = [adopted, ...written, ...(generation.isServing ? rebuilt : [])].includes(generation.tag)
    const isFirst = newest === undefined && !found.some(({ complete }) => complete?.isWhole)
    const holdsPromises = isFirst || (generation.isWhole && isKnown)
    const floorMs = holdsPromises ? undefined : clock()
    if (!generation.isWritable) {
      if (await isWatermarkHeld(redis, keys)) throw new Error('a rebuild is about to switch')
      await allowWriting(elasticsearch, generation, options)
    }
    const served = new ServedGeneration(stores, generation, floorMs, options)
    if (holdsPromises && !generation.isServing) await served.#serve()
    await setWatermarkGeneration(redis, keys, generation.tag, floorMs)
    return served
  }

  /** The watermark as it was published last. */
  get watermarkMs(): number | undefined {
    return this.#watermarkMs
  }

  /** What readers miss while the generation is built anew; undefined when it serves. */
  trouble(): string | undefined {
    return this.#isServing ? undefined : `generation ${this.generation.number} is being built from Kafka`
  }

  /** Whether it is still the one to write: its indices are there to be written, and readers are led to it or to nothing. */
  async isCurrent(): Promise<boolean> {
    const { config, elasticsearch } = this.#stores
    const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, this.#options)
    const serving = found.find(({ complete }) => complete?.isServing)
    const own = found.find(({ complete }) => complete?.tag === this.generation.tag)
    if (own?.complete === undefined || (serving === undefined ? this.#isServing : serving !== own)) return false
    // A rebuild takes the way to write away, for the moment before it switches; one that died meanwhile holds nothing for long.
    return own.complete.isWritable || (await isWatermarkHeld(this.#stores.redis, this.#stores.keys))
  }

  /** Publishes marks as true of this generation. It is looked at last: what is promised of a retired one would be a lie. */
  async publish(everyPartition: readonly string[], marks: PartitionWatermarks): Promise<RoundEnd> {
    const { redis, keys } = this.#stores
    if (!(await this.isCurrent())) return 'over'
    const published = await publishWatermark(redis, keys, {
      generation: this.generation.tag,
      everyPartition,
      partitionWatermarks: marks,
    })
    switch (published.kind) {
      case 'published':
        this.#watermarkMs = published.watermarkMs
        this.#floorMs = undefined
        if (!this.#isServing) await this.#serve()
        return 'going-on'
      case 'superseded':
        return 'over'
      case 'forgotten':
        await setWatermarkGeneration(redis, keys, this.generation.tag, this.#floorMs)
        return 'going-on'
      case 'incomplete':
      case 'behind':
      case 'held':
        return 'going-on'
    }
  }

  /** Where there is no watermark, nothing is promised, and readers are led to what there is. */
  async serveWithoutWatermark(): Promise<RoundEnd> {
    if (!(await this.isCurrent())) return 'over'
    if (!this.#isServing) await this.#serve()
    return 'going-on'
  }

  async #serve(): Promise<void> {
    const { config, elasticsearch } = this.#stores
    await serveGeneration(elasticsearch, config.INDEX_PREFIX, this.generation, this.#options)
    this.#isServing = true
  }
}

function newestOf(tags: readonly (string | undefined)[]): KnownGeneration | undefined {
  const known = tags.flatMap((tag) => readTag(tag) ?? [])
  return known.reduce<KnownGeneration | undefined>(
    (newest, each) => (newest === undefined || each.number > newest.number ? each : newest),
    undefined,
  )
}
