import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { randomToken, type TeamId } from '../../src/core/model/ids.ts'
import { teamList } from '../../src/core/model/teamList.ts'
import type { GenerationTag } from '../../src/core/stores/indices.ts'
import { type Freshness, readListVersions, replaceChangeTokens } from '../../src/core/stores/listVersions.ts'
import { connectRedis, type RedisConnection } from '../../src/core/stores/redis.ts'
import { type RedisKeys, redisKeys } from '../../src/core/stores/redisKeys.ts'
import { publishWatermark, setWatermarkGeneration } from '../../src/core/stores/watermark.ts'
import { eventually } from '../support/eventually.ts'

const team = 'acme' as TeamId
const list = teamList('forms', team)
const generation = '1-0123456789abcdef' as GenerationTag
const everyPartition = ['forms/0']

/** Records are appended at 1 s, 2 s, … of the epoch; a body is the number of records it holds. */
const appendedBefore = (watermark: string): number => Math.ceil(Date.parse(watermark) / 1_000) - 1

/** An indexer and a reader, as far as freshness goes, that take one step at a time, in any order. */
class Race {
  readonly #redis: RedisConnection
  readonly #keys: RedisKeys
  /** How many answers came with a watermark that promises anything. */
  promises = 0
  /** How many answers were not asked for again. */
  keptAnswers = 0
  #appended = 0
  #acknowledged = 0
  #visible = 0
  #round = 0
  #reading: { freshness: Freshness } | undefined
  #kept: { version: string; body: number } | undefined

  constructor(redis: RedisConnection, keys: RedisKeys) {
    this.#redis = redis
    this.#keys = keys
  }

  async step(who: 'product' | 'indexer' | 'crash' | 'reader' | 'flush'): Promise<void> {
    switch (who) {
      case 'product':
        this.#appended++
        return
      case 'indexer':
        return await this.#indexer(this.#round++ % 4)
      case 'crash':
        this.#round = 0
        return
      case 'reader':
        return await this.#reader()
      case 'flush':
        await this.#redis.client.del(this.#keys.watermark, this.#keys.changeToken(list))
        await setWatermarkGeneration(this.#redis, this.#keys, generation, undefined)
    }
  }

  async #indexer(step: number): Promise<void> {
    if (step === 0) this.#acknowledged = this.#appended
    if (step === 1) this.#visible = this.#acknowledged
    if (step === 2) await replaceChangeTokens(this.#redis, this.#keys, [list], randomToken)
    if (step === 3) {
      const partitionWatermarks = new Map([['forms/0', this.#acknowledged * 1_000 + 500]])
      await publishWatermark(this.#redis, this.#keys, {
        generation,
        owner: 'indexer',
        everyPartition,
        partitionWatermarks,
        highestMs: undefined,
        isWithheld: false,
      })
    }
  }

  /** Freshness first, then the query, unless what it keeps is of that version. */
  async #reader(): Promise<void> {
    if (this.#reading === undefined) {
      const freshness = await readListVersions(this.#redis, this.#keys, team, randomToken)
      const isNotChanged = freshness.versions.forms !== null && freshness.versions.forms === this.#kept?.version
      if (isNotChanged) {
        this.keptAnswers++
        this.#expectPromised(this.#kept?.body ?? 0, freshness)
      } else this.#reading = { freshness }
      return
    }
    const { freshness } = this.#reading
    this.#expectPromised(this.#visible, freshness)
    if (freshness.versions.forms !== null) this.#kept = { version: freshness.versions.forms, body: this.#visible }
    this.#reading = undefined
  }

  #expectPromised(body: number, { watermark }: Freshness): void {
    const promised = watermark === null ? 0 : appendedBefore(watermark)
    expect(body).toBeGreaterThanOrEqual(promised)
    if (promised > 0) this.promises++
  }
}

describe('Whatever the order in which an indexer makes changes visible and a reader asks', () => {
  let redis: RedisConnection
  beforeAll(async () => {
    redis = connectRedis(process.env['REDIS_URL'] ?? '', () => undefined)
    await eventually(() => redis.runId() !== undefined)
  })
  afterAll(() => redis.close())

  const steps = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constant('product' as const) },
      { weight: 8, arbitrary: fc.constant('indexer' as const) },
      { weight: 1, arbitrary: fc.constant('crash' as const) },
      { weight: 8, arbitrary: fc.constant('reader' as const) },
      { weight: 1, arbitrary: fc.constant('flush' as const) },
    ),
    { minLength: 10, maxLength: 80 },
  )

  test('an answer, and what is kept when nothing has changed, holds everything before its watermark', async () => {
    let [promises, keptAnswers] = [0, 0]
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const keys = redisKeys(`test-${randomUUID()}`)
        await setWatermarkGeneration(redis, keys, generation, undefined)
        const race = new Race(redis, keys)
        try {
          for (const who of all) await race.step(who)
          promises += race.promises
          keptAnswers += race.keptAnswers
        } finally {
          await redis.client.del(
            keys.watermark,
            keys.changeToken(list),
            keys.changeToken(teamList('submissions', team)),
          )
        }
      }),
      { numRuns: 150, endOnFailure: true },
    )
    expect(promises).toBeGreaterThan(0)
    expect(keptAnswers).toBeGreaterThan(0)
  })
})
