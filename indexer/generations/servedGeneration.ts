import type { Client } from '@elastic/elasticsearch'
import type { Config } from '../../src/core/process/config.ts'
import type { GenerationTag } from '../../src/core/stores/indices.ts'
import type { RedisConnection } from '../../src/core/stores/redis.ts'
import {
  isWatermarkHeld,
  type PartitionWatermarks,
  publishWatermark,
  readWatermarkGeneration,
  setWatermarkGeneration,
  type WatermarkResult,
} from '../../src/core/stores/watermark.ts'
import type { CommittedOffset } from '../startOffsets.ts'
import type { RoundResult } from '../watermarkPublisher.ts'
import { serveGeneration, unblockWrites } from './aliases.ts'
import { chooseGeneration, type Decision, decideOpening, decideRound, isToBeWritten, readersOf } from './decide.ts'
import {
  createGeneration,
  expectOwnSettings,
  findGenerations,
  type Generation,
  type KnownGeneration,
  type RequestOptions,
  readTag,
} from './generations.ts'

export type Stores = {
  readonly config: Config
  readonly elasticsearch: Client
  readonly redis: RedisConnection
}

/** The committed offsets of the indexers' group and of the rebuilds' group for the document topics. */
type GroupCommits = { readonly own: readonly CommittedOffset[]; readonly rebuilt: readonly CommittedOffset[] }

const timeoutMs = 30_000

/**
 * The generation of indices that this indexer writes and publishes the watermark of. What it observes of the generation, `decide.ts` turns into
 * what it does. One that was lost (deleted, or restored from an older snapshot) is built again from Kafka: the watermark is withdrawn, and
 * the generation serves once it holds every record that was appended before the build began.
 */
export class ServedGeneration {
  readonly generation: Generation
  readonly #stores: Stores
  readonly #options: RequestOptions
  readonly #clock: () => number
  /** The generation whose watermarks counted when this one was opened. */
  readonly #adoptedBefore: GenerationTag | undefined
  readonly #left = new AbortController()
  /** Nobody reads it, because it may lack what the watermark promised. */
  #isBuilding = false
  /** The start of the build, while the generation does not hold everything below an earlier watermark. */
  #floorMs: number | undefined
  #watermarkMs: number | undefined

  private constructor(
    stores: Stores,
    generation: Generation,
    adoptedBefore: GenerationTag | undefined,
    clock: () => number,
    options: RequestOptions,
  ) {
    this.#stores = stores
    this.generation = generation
    this.#adoptedBefore = adoptedBefore
    this.#clock = clock
    this.#options = options
  }

  /**
   * Finds the generation to write, or creates one. Rejects when its mappings are of another release, or while a rebuild is about to switch;
   * safe to call from several processes at once.
   */
  static async open(
    stores: Stores,
    commits: GroupCommits,
    clock: () => number,
    signal: AbortSignal,
  ): Promise<ServedGeneration> {
    const options = { signal, requestTimeout: timeoutMs }
    for (;;) {
      const { generation, adopted, holdsPromised } = await findOwn(stores, commits, options)
      const served = new ServedGeneration(stores, generation, adopted, clock, options)
      const isHeld = await served.#isClosedUnderHold(generation)
      const decision = decideOpening({ ...generation, isHeld, holdsPromised })
      await served.#do(decision)
      // A rebuild that was only late may have switched instead.
      if (decision !== 'unblock') return served
    }
  }

  /** Aborts once it is not the generation to write. It is left then, whatever a later look shows. */
  get left(): AbortSignal {
    return this.#left.signal
  }

  /** The watermark as it was last published. */
  get watermarkMs(): number | undefined {
    return this.#watermarkMs
  }

  /** Why readers do not read this generation; undefined while they do. */
  notServingReason(): string | undefined {
    return this.#isBuilding ? `generation ${this.generation.number} is being built from Kafka` : undefined
  }

  /** Looks whether it is still the generation to write: its indices exist and are writable, and no other generation serves. */
  async isCurrent(): Promise<boolean> {
    const { config, elasticsearch } = this.#stores
    const isBuilding = this.#isBuilding
    const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, this.#options)
    const own = found.find(({ complete }) => complete?.tag === this.generation.tag)?.complete
    const readers = readersOf(found, this.generation)
    const isHeld = own !== undefined && (await this.#isClosedUnderHold(own))
    if (!isToBeWritten({ readers, isWritable: own?.isWritable ?? false, isHeld, isBuilding })) this.#left.abort()
    // Another indexer may have made it serve.
    if (readers === 'its own') this.#isBuilding = false
    return !this.left.aborted
  }

  /**
   * Publishes partition watermarks of this generation, after checking that it is current: those of a retired one are not true. `highestMs`
   * is the greatest watermark that this process knows of; `isWithheld`: a deletion may have been missed.
   */
  async publish(
    owner: string,
    everyPartition: readonly string[],
    watermarks: PartitionWatermarks,
    highestMs: number | undefined,
    isWithheld: boolean,
  ): Promise<RoundResult> {
    const { redis } = this.#stores
    if (!(await this.isCurrent())) return 'retired'
    const result = await publishWatermark(redis, {
      generation: this.generation.tag,
      owner,
      everyPartition,
      partitionWatermarks: watermarks,
      highestMs,
      isWithheld,
    })
    if (result.kind === 'published' || result.kind === 'withheld') {
      this.#watermarkMs = result.kind === 'published' ? result.watermarkMs : undefined
      this.#floorMs = undefined
    }
    return await this.#endRound(result.kind)
  }

  /** Without append times there is no watermark to wait for: readers read what there is. */
  async serveWithoutWatermark(): Promise<RoundResult> {
    return (await this.isCurrent()) ? await this.#endRound('no append times') : 'retired'
  }

  async #endRound(answer: WatermarkResult['kind'] | 'no append times'): Promise<RoundResult> {
    // A look at the same time may have shown meanwhile that it is not the one to write.
    const decision = this.left.aborted ? 'leave' : decideRound(answer, this.#isBuilding)
    await this.#do(decision)
    return decision === 'leave' ? 'retired' : decision === 'rejoin' ? 'displaced' : 'continue'
  }

  /** A rebuild closes the old generation just before it switches. The hold on the watermark of a rebuild that died expires soon. */
  async #isClosedUnderHold({ isWritable }: Pick<Generation, 'isWritable'>): Promise<boolean> {
    const { redis } = this.#stores
    return !isWritable && (await isWatermarkHeld(redis))
  }

  async #do(decision: Decision): Promise<void> {
    const { config, elasticsearch, redis } = this.#stores
    const { generation } = this
    const adopt = (): Promise<void> =>
      setWatermarkGeneration(redis, generation.tag, this.#floorMs, this.#adoptedBefore ?? '')
    switch (decision) {
      case 'wait for a rebuild':
        throw new Error(
          `generation ${generation.number} has mappings of another release: \`npm run rebuild\` of this release builds indices for it`,
        )
      case 'wait for the switch':
        throw new Error('a rebuild is about to switch')
      case 'unblock':
        return await unblockWrites(elasticsearch, config.INDEX_PREFIX, generation, this.#options)
      case 'withdraw':
        this.#isBuilding = !generation.isServing
        this.#floorMs = this.#clock()
        return await adopt()
      case 'serve':
        await serveGeneration(elasticsearch, config.INDEX_PREFIX, generation, this.#options)
        this.#isBuilding = false
        return await adopt()
      case 'adopt':
        return await adopt()
      case 'leave':
        this.#left.abort()
        return
      // Done by the publisher.
      case 'rejoin':
      case 'continue':
        return
    }
  }
}

/** The generation to write, which is created if there is none, and whether it holds everything below the last watermark. */
async function findOwn(
  { config, elasticsearch, redis }: Stores,
  commits: GroupCommits,
  options: RequestOptions,
): Promise<{
  readonly generation: Generation
  /** The generation whose watermarks count now. */
  readonly adopted: GenerationTag | undefined
  readonly holdsPromised: boolean
}> {
  // Read first: a rebuild that switches later changes it, so that an indexer which was frozen meanwhile cannot adopt what served before.
  const adopted = await readWatermarkGeneration(redis)
  const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, options)
  const written = commits.own.map(({ generation }) => generation)
  const newest = newestOf([adopted, ...written])
  const { number, complete } = chooseGeneration(found, newest)
  const generation = complete ?? (await createGeneration(elasticsearch, config, number, options))
  await expectOwnSettings(elasticsearch, generation, options)
  const rebuilt = commits.rebuilt.map((commit) => commit.generation)
  // A rebuild that has not switched yet may lack what indexers have read since.
  const isKnown = [adopted, ...written, ...(generation.isServing ? rebuilt : [])].includes(generation.tag)
  const isFirst = newest === undefined && !found.some((each) => each.complete?.hasServed)
  return { generation, adopted, holdsPromised: isFirst || (generation.hasServed && isKnown) }
}

function newestOf(tags: readonly (string | undefined)[]): KnownGeneration | undefined {
  const known = tags.flatMap((tag) => readTag(tag) ?? [])
  return known.reduce<KnownGeneration | undefined>(
    (newest, each) => (newest === undefined || each.number > newest.number ? each : newest),
    undefined,
  )
}
