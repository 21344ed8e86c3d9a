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
import type { CommittedOffset } from '../committedOffsets.ts'
import type { RoundResult } from '../publisher.ts'
import {
  chooseGeneration,
  createGeneration,
  findGenerations,
  type Generation,
  type KnownGeneration,
  type RequestOptions,
  readTag,
  serveGeneration,
  unblockWrites,
} from './generations.ts'

export type Stores = {
  readonly config: Config
  readonly elasticsearch: Client
  readonly redis: RedisConnection
  readonly keys: RedisKeys
}

/** The committed offsets of the indexers' group and of the rebuilds' group for the document topics. */
type GroupCommits = { readonly own: Iterable<CommittedOffset>; readonly rebuilt: Iterable<CommittedOffset> }

const timeoutMs = 30_000

/**
 * The generation of indices that this indexer writes and publishes the watermark of. One that was lost (deleted, or restored from
 * an older snapshot) is built again from Kafka: the watermark is withdrawn, and the generation serves once it holds every record
 * that was appended before the build began.
 */
export class ServedGeneration {
  readonly generation: Generation
  readonly #stores: Stores
  readonly #options: RequestOptions
  /** The start of the build, while the generation does not hold everything below an earlier watermark. */
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
    const { number, exists } = chooseGeneration(found, newest)
    const generation =
      (exists ? found.find((each) => each.number === number)?.complete : undefined) ??
      (await createGeneration(elasticsearch, config, number, options))
    if (!generation.hasCurrentMappings)
      throw new Error(
        `generation ${number} has mappings of another release: \`npm run rebuild\` of this release builds indices for it`,
      )
    const rebuilt = [...commits.rebuilt].map((commit) => commit.generation)
    const isKnown = [adopted, ...written, ...(generation.isServing ? rebuilt : [])].includes(generation.tag)
    const isFirst = newest === undefined && !found.some(({ complete }) => complete?.hasServed)
    const holdsWatermark = isFirst || (generation.hasServed && isKnown)
    const floorMs = holdsWatermark ? undefined : clock()
    if (!generation.isWritable) {
      if (await isWatermarkHeld(redis, keys)) throw new Error('a rebuild is about to switch')
      await unblockWrites(elasticsearch, config.INDEX_PREFIX, generation, options)
    }
    const served = new ServedGeneration(stores, generation, floorMs, options)
    if (holdsWatermark && !generation.isServing) await served.#serve()
    await setWatermarkGeneration(redis, keys, generation.tag, floorMs)
    return served
  }

  /** The watermark as it was last published. */
  get watermarkMs(): number | undefined {
    return this.#watermarkMs
  }

  /** Why readers do not read this generation; undefined while they do. */
  notServingReason(): string | undefined {
    return this.#isServing ? undefined : `generation ${this.generation.number} is being built from Kafka`
  }

  /** Whether it is still the generation to write: its indices exist and are writable, and no other generation serves. */
  async isCurrent(): Promise<boolean> {
    const { config, elasticsearch } = this.#stores
    const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, this.#options)
    const serving = found.find(({ complete }) => complete?.isServing)
    const own = found.find(({ complete }) => complete?.tag === this.generation.tag)
    if (own?.complete === undefined || (serving === undefined ? this.#isServing : serving !== own)) return false
    // A rebuild blocks writes just before it switches. The hold on the watermark of a rebuild that died expires soon.
    return own.complete.isWritable || (await isWatermarkHeld(this.#stores.redis, this.#stores.keys))
  }

  /** Publishes partition watermarks of this generation, after checking that it is current: those of a retired one are not true. */
  async publish(
    owner: string,
    everyPartition: readonly string[],
    watermarks: PartitionWatermarks,
  ): Promise<RoundResult> {
    const { redis, keys } = this.#stores
    if (!(await this.isCurrent())) return 'retired'
    const published = await publishWatermark(redis, keys, {
      generation: this.generation.tag,
      owner,
      everyPartition,
      partitionWatermarks: watermarks,
    })
    switch (published.kind) {
      case 'published':
        this.#watermarkMs = published.watermarkMs
        this.#floorMs = undefined
        if (!this.#isServing) await this.#serve()
        return 'continue'
      case 'superseded':
        return 'retired'
      case 'displaced':
        return 'displaced'
      case 'forgotten':
        await setWatermarkGeneration(redis, keys, this.generation.tag, this.#floorMs)
        return 'continue'
      case 'incomplete':
      case 'behind':
      case 'held':
        return 'continue'
    }
  }

  /** Without append times there is no watermark to wait for: readers read what there is. */
  async serveWithoutWatermark(): Promise<RoundResult> {
    if (!(await this.isCurrent())) return 'retired'
    if (!this.#isServing) await this.#serve()
    return 'continue'
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
