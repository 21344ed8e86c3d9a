import { setTimeout as sleep } from 'node:timers/promises'
import { randomToken, type TeamId } from '../../src/core/model/ids.ts'
import { readListVersions } from '../../src/core/stores/listVersions.ts'
import { connectRedis } from '../../src/core/stores/redis.ts'
import { redisKeys } from '../../src/core/stores/redisKeys.ts'
import type { Pipeline } from './pipeline.ts'
import type { Program } from './programs.ts'

/** What readers were told of the watermark since it is watched. */
export type WatermarkWatch = {
  /** What went wrong: a watermark that went back, or one from the future. */
  problems(): readonly string[]
  stop(): Promise<void>
}

const storePollMs = 50
/** An answer costs the API and Elasticsearch a query, and a new watermark is published a few times a second. */
const answerPollMs = 150
const timeoutMs = 8_000

/** Reads the watermark where readers find it, as often as they may; it may be absent, but must never go back. */
export function watchWatermark(pipeline: Pipeline, api: Program, team: string): WatermarkWatch {
  const problems: string[] = []
  const stop = new AbortController()
  // It goes away on purpose.
  const redis = connectRedis(process.env['REDIS_URL'] ?? '', () => undefined)
  const keys = redisKeys(pipeline.names['INDEX_PREFIX'] ?? '')

  const note = monotone(problems)
  const readStore = async (): Promise<void> => {
    const { watermark } = await readListVersions(redis, keys, team as TeamId, randomToken)
    if (watermark !== null) note('in Redis', Date.parse(watermark))
  }
  const readAnswer = async (): Promise<void> => {
    const response = await fetch(`${api.url}/api/v1/forms?limit=1`, {
      headers: { authorization: `Bearer ${pipeline.keyOf(team)}` },
      signal: AbortSignal.timeout(timeoutMs),
    })
    await response.arrayBuffer()
    const watermark = response.headers.get('replica-watermark')
    if (watermark !== null) note('in an answer', Date.parse(watermark))
  }
  const steps = [
    { read: readStore, restMs: storePollMs },
    { read: readAnswer, restMs: answerPollMs },
  ]
  const running = steps.map(async ({ read, restMs }) => {
    while (!stop.signal.aborted) {
      // Engines are away now and then.
      await read().catch(() => undefined)
      await sleep(restMs)
    }
  })
  return {
    problems: () => problems,
    stop: async () => {
      stop.abort()
      await Promise.all(running)
      await redis.close()
    },
  }
}

const monotone = (problems: string[]): ((where: string, epochMs: number) => void) => {
  const highest = new Map<string, number>()
  return (where, epochMs) => {
    const known = highest.get(where) ?? 0
    if (epochMs < known) problems.push(`${where}: ${known - epochMs} ms back, at ${new Date().toISOString()}`)
    if (epochMs > Date.now()) problems.push(`${where}: ${epochMs - Date.now()} ms ahead of now`)
    highest.set(where, Math.max(known, epochMs))
  }
}
