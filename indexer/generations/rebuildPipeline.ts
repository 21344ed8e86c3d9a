import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import type { CommandTools } from '../engineCommand.ts'
import { pipelineMetrics } from '../metrics.ts'
import { Pipeline } from '../pipeline.ts'
import { rebuildGroup } from '../startOffsets.ts'
import { documentTopics, type TopicRules } from '../topics.ts'
import { readersOf } from './decide.ts'
import { findGenerations, type Generation } from './generations.ts'

/** Longer than what is in flight takes to be published. */
const stopDeadlineMs = 8_500
/** A rebuild that was killed stays a member of its group until its session times out. */
const groupDeadlineMs = 20_000
/** How often it is looked for another rebuild, and whether the new generation is still there. */
const otherCheckMs = 5_000
const switchDeadlineMs = 20_000
const requestTimeoutMs = 30_000
const pollMs = 250

/** Reads both topics into a generation that nobody reads yet: the indexer's pipeline, in a group of its own. */
export class RebuildPipeline {
  readonly #options: CommandTools
  readonly #generation: Generation
  readonly #pipeline: Pipeline
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>
  #round: Promise<unknown> | undefined
  #changesStartAtMs: number | undefined

  /** Begins to read. `fail` is called with the error when the pipeline stops because of a bug. */
  constructor(
    options: CommandTools,
    generation: Generation,
    { keptMs }: Pick<TopicRules, 'keptMs'>,
    fail: (error: unknown) => void,
  ) {
    const { config, source, elasticsearch, log } = options
    const topics = documentTopics(config)
    const changesStartAtMs = (): number | undefined => this.#changesStartAtMs
    this.#options = options
    this.#generation = generation
    this.#pipeline = new Pipeline({
      ...{ config, source, elasticsearch, generation, topics, log, fail },
      groupId: rebuildGroup(config.CONSUMER_GROUP),
      keptMs: (topic) => keptMs[topic] ?? Number.POSITIVE_INFINITY,
      claim: async () => ({
        owner: 'rebuild',
        // Looked up when the first record is read: it may be set after the claim.
        get watermarkMs() {
          return changesStartAtMs()
        },
        changedAtRaisedByMs: 0,
      }),
      // A rebuild runs alone, and nobody reads its generation.
      isDisplaced: async () => false,
      serving: undefined,
      metrics: pipelineMetrics(new Registry(), topics),
    })
    this.#running = this.#pipeline.run(this.#stopping.signal).catch(fail)
  }

  /** From now on no record gets a `changedAt` below `watermarkMs`. */
  startChangesAt(watermarkMs: number): void {
    this.#changesStartAtMs = watermarkMs
    for (const { changeTimes } of this.#pipeline.consumer.assigned()) changeTimes.watermarkDecided(watermarkMs)
  }

  /**
   * Waits until every record that is in the topics now is searchable in the new generation. With `extendHold`, which is called several times a
   * second, the watermark stands still meanwhile: then rounds are not waited for, and there is a deadline.
   */
  async readToTheEnd(extendHold?: () => Promise<void>): Promise<void> {
    const { source, config, report, signal } = this.#options
    const ends = await source.offsetRanges(documentTopics(config))
    const total = [...ends.values()].reduce((sum, { low, high }) => sum + Number(high - low), 0)
    const givesUpAtMs = Date.now() + switchDeadlineMs
    const expectUndisturbed = createCheck(this.#options, this.#generation)
    let [before, reported] = ['', '']
    for (;;) {
      const positions = this.#pipeline.publisher.positions()
      const left = [...ends].map(([name, { low, high }]) => Math.max(0, Number(high - (positions.get(name) ?? low))))
      const done = total - left.reduce((sum, each) => sum + each, 0)
      if (extendHold === undefined) report.progress('records read', done, total)
      if (done === total && [...ends.keys()].every((name) => positions.has(name))) return
      if (extendHold !== undefined && Date.now() > givesUpAtMs)
        throw new Error('the new generation does not reach the end of the topics in time')
      const blocked = Object.values(this.#pipeline.blockedReasons())
      const reasons = blocked.filter((reason) => reason !== undefined).join('; ')
      if (reasons !== '' && reasons === before && reasons !== reported) {
        report.step(`waiting: ${reasons}`)
        reported = reasons
      }
      before = reasons
      await expectUndisturbed()
      await sleep(pollMs, undefined, { signal })
      if (extendHold === undefined) continue
      this.#publish()
      await extendHold()
    }
  }

  /** Begins to make searchable what was processed so far, unless it is being done. */
  #publish(): void {
    this.#round ??= this.#pipeline.publisher
      .publish()
      // It repeats a failed round and has its error among the blocked reasons.
      .catch(() => undefined)
      .finally(() => {
        this.#round = undefined
      })
  }

  /** Publishes what is in flight, and leaves the group. What takes too long is not waited for. */
  async stop(): Promise<void> {
    await Promise.race([this.#shutDown(), sleep(stopDeadlineMs, undefined, { ref: false })])
  }

  async #shutDown(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.#pipeline.shutDown().catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'left the consumer group without a final commit')
    })
  }
}

/** Throws when another rebuild runs. One that was killed is waited for until its group forgets it. */
export async function expectAlone({ source, config, signal }: CommandTools): Promise<void> {
  const givesUpAtMs = Date.now() + groupDeadlineMs
  while ((await source.groupMembers(rebuildGroup(config.CONSUMER_GROUP))).length > 0) {
    if (Date.now() > givesUpAtMs) throw new Error('another rebuild is running')
    await sleep(pollMs, undefined, { signal })
  }
}

/**
 * Throws when the generation that is filled was deleted, or the group has had another member for so long that it cannot be one that was
 * killed: two rebuilds that have begun at once share the partitions, and each would wait for those of the other for ever.
 */
function createCheck(
  { source, config, elasticsearch, signal }: CommandTools,
  generation: Generation,
): () => Promise<void> {
  let [checkedAtMs, aloneAtMs] = [Date.now(), Date.now()]
  return async () => {
    if (Date.now() - checkedAtMs < otherCheckMs) return
    checkedAtMs = Date.now()
    const found = await findGenerations(elasticsearch, config.INDEX_PREFIX, {
      signal,
      requestTimeout: requestTimeoutMs,
    })
    if (readersOf(found, generation) === 'gone')
      throw new Error(`generation ${generation.number} was deleted: run the rebuild again`)
    if ((await source.groupMembers(rebuildGroup(config.CONSUMER_GROUP))).length <= 1) aloneAtMs = checkedAtMs
    if (checkedAtMs - aloneAtMs > groupDeadlineMs) throw new Error('another rebuild has begun as well: run one again')
  }
}
