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
import { chooseGeneration, readersOf, stateOf } from './foundState.ts'
import { type GenerationEvent, type GenerationState, next, type Step } from './generationState.ts'
import {
  createGeneration,
  expectOwnSettings,
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
 * The generation of indices that this indexer writes and publishes the watermark of. What it observes of the generation is an event, and
 * `generationState.ts` tells what follows. One that was lost (deleted, or restored from an older snapshot) is built again from Kafka: the
 * watermark is withdrawn, and the generation serves once it holds every record that was appended before the build began.
 */
export class ServedGeneration {
  readonly generation: Generation
  readonly #stores: Stores
  readonly #options: RequestOptions
  readonly #clock: () => number
  #state: GenerationState
  /** The start of the build, while the generation does not hold everything below an earlier watermark. */
  #floorMs: number | undefined
  #watermarkMs: number | undefined

  private constructor(
    stores: Stores,
    generation: Generation,
    state: GenerationState,
    clock: () => number,
    options: RequestOptions,
  ) {
    this.#stores = stores
    this.generation = generation
    this.#state = state
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
    const { config, elasticsearch, redis, keys } = stores
    const options = { signal, requestTimeout: timeoutMs }
    const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, options)
    const adopted = await readWatermarkGeneration(redis, keys)
    const written = [...commits.own].map(({ generation }) => generation)
    const newest = newestOf([adopted, ...written])
    const { number, complete } = chooseGeneration(found, newest)
    const generation = complete ?? (await createGeneration(elasticsearch, config, number, options))
    await expectOwnSettings(elasticsearch, generation, options)
    const rebuilt = [...commits.rebuilt].map((commit) => commit.generation)
    const isKnown = [adopted, ...written, ...(generation.isServing ? rebuilt : [])].includes(generation.tag)
    const isFirst = newest === undefined && !found.some((each) => each.complete?.hasServed)
    const holdsPromised = isFirst || (generation.hasServed && isKnown)
    const state = stateOf({ ...generation, complete: generation }, newest)
    const served = new ServedGeneration(stores, generation, state, clock, options)
    if (!generation.hasCurrentMappings) await served.#take('mappings of another release')
    await served.#take(await served.#writersOf(generation))
    await served.#take(holdsPromised ? 'holds the promised' : 'may lack the promised')
    return served
  }

  /** The watermark as it was last published. */
  get watermarkMs(): number | undefined {
    return this.#watermarkMs
  }

  /** Why readers do not read this generation; undefined while they do. */
  notServingReason(): string | undefined {
    return this.#state === 'building' ? `generation ${this.generation.number} is being built from Kafka` : undefined
  }

  /** Looks whether it is still the generation to write: its indices exist and are writable, and no other generation serves. */
  async isCurrent(): Promise<boolean> {
    const { config, elasticsearch } = this.#stores
    const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, this.#options)
    if (!this.#staysOpen(readersOf(found, this.generation))) return false
    const own = found.find(({ complete }) => complete?.tag === this.generation.tag)?.complete
    return own !== undefined && this.#staysOpen(await this.#writersOf(own))
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
    const { redis, keys } = this.#stores
    if (!(await this.isCurrent())) return 'retired'
    const result = await publishWatermark(redis, keys, {
      generation: this.generation.tag,
      owner,
      everyPartition,
      partitionWatermarks: watermarks,
      highestMs,
      isWithheld,
    })
    if (result.kind === 'published') {
      this.#watermarkMs = result.watermarkMs
      this.#floorMs = undefined
    }
    if (result.kind === 'withheld') this.#watermarkMs = undefined
    return roundResult(await this.#take(result.kind))
  }

  /** Without append times there is no watermark to wait for: readers read what there is. */
  async serveWithoutWatermark(): Promise<RoundResult> {
    return (await this.isCurrent()) ? roundResult(await this.#take('no append times')) : 'retired'
  }

  /** Whether it is still the generation to write after an event that a look has shown. */
  #staysOpen(event: GenerationEvent): boolean {
    const { to, steps } = next(this.#state, event)
    this.#state = to
    return !steps.includes('open')
  }

  /** Does what follows from an event. A look at the same time may show that the generation has gone another way meanwhile. */
  async #take(event: GenerationEvent): Promise<readonly Step[]> {
    const from = this.#state
    const { to, steps } = next(from, event)
    for (const step of steps) await this.#do(step)
    if (this.#state === from) this.#state = to
    return steps
  }

  /** A rebuild blocks writes just before it switches. The hold on the watermark of a rebuild that died expires soon. */
  async #writersOf({ isWritable }: Pick<Generation, 'isWritable'>): Promise<GenerationEvent> {
    if (isWritable) return 'writable'
    const { redis, keys } = this.#stores
    return (await isWatermarkHeld(redis, keys)) ? 'closed under a hold' : 'closed without a hold'
  }

  async #do(step: Step): Promise<void> {
    const { config, elasticsearch, redis, keys } = this.#stores
    const { generation } = this
    switch (step) {
      case 'unblock':
        return await unblockWrites(elasticsearch, config.INDEX_PREFIX, generation, this.#options)
      case 'serve':
        return await serveGeneration(elasticsearch, config.INDEX_PREFIX, generation, this.#options)
      case 'withdraw':
        this.#floorMs = this.#clock()
        return await setWatermarkGeneration(redis, keys, generation.tag, this.#floorMs)
      case 'adopt':
        return await setWatermarkGeneration(redis, keys, generation.tag, this.#floorMs)
      case 'wait for the switch':
        throw new Error('a rebuild is about to switch')
      case 'wait for a rebuild':
        throw new Error(
          `generation ${generation.number} has mappings of another release: \`npm run rebuild\` of this release builds indices for it`,
        )
      // Done by the runner, the publisher or a rebuild.
      case 'open':
      case 'rejoin':
      case 'fill':
      case 'reconcile':
      case 'remove':
        return
    }
  }
}

const roundResult = (steps: readonly Step[]): RoundResult =>
  steps.includes('open') ? 'retired' : steps.includes('rejoin') ? 'displaced' : 'continue'

function newestOf(tags: readonly (string | undefined)[]): KnownGeneration | undefined {
  const known = tags.flatMap((tag) => readTag(tag) ?? [])
  return known.reduce<KnownGeneration | undefined>(
    (newest, each) => (newest === undefined || each.number > newest.number ? each : newest),
    undefined,
  )
}
