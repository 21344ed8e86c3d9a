import { tidemark } from '../alternative.ts'
import { type FollowSize, follow } from '../follow.ts'
import type { Sample } from '../load.ts'
import { connect, withAnswerCache } from '../replica.ts'
import type { Section } from '../report.ts'
import type { Stage } from '../stage.ts'

const eventRates = [10, 100, 1_000]
const judgedRate = 100
const limits = { p50Ms: 400, p99Ms: 1_000 }
const team = 'team_watched'

const nameOf = (rate: number): string => `${rate.toLocaleString('en')} events/s`

export const freshnessSection: Section = {
  title: 'From acknowledged by Kafka to seen by a client that follows the changes of a team',
  measure: 'latency',
  rows: eventRates.map((rate) => ({
    label: nameOf(rate),
    of: nameOf(rate),
    ...(rate === judgedRate && { limits }),
  })),
}

/** With default settings: at each rate, how long events take from Kafka to a client. */
export async function measureFreshness(stage: Stage, forMs: number): Promise<Map<string, readonly Sample[]>> {
  const [, append] = await connect(stage)
  const replica = await tidemark(stage, append, team, withAnswerCache)
  const samples = new Map<string, readonly Sample[]>()
  for (const perSecond of eventRates) {
    process.stdout.write(`Measuring freshness at ${nameOf(perSecond)}\n`)
    const size: FollowSize = { perSecond, forMs, restarts: false }
    samples.set(nameOf(perSecond), [await follow(replica, team, size, stage)])
  }
  return samples
}
