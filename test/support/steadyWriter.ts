import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { submissionEntity } from './entities.ts'
import type { Pipeline } from './pipeline.ts'
import { seeded } from './random.ts'

const tickMs = 100
const gone = Number.POSITIVE_INFINITY

/**
 * One team's submissions, written at a steady rate for as long as a test wants: new revisions, late ones, deletions. It knows
 * what every answer must hold at least and may hold at most.
 */
export type SteadyWriter = {
  readonly team: string
  /** Ends the writing and resolves once everything is appended. */
  stop(): Promise<void>
  written(): number
  /** Throws when an answer lacks what was appended before `watermarkMs`, or holds what was never written. */
  check(answer: { readonly watermarkMs: number; readonly items: ReadonlyMap<string, number> }): void
}

export function startSteadyWriter(
  pipeline: Pipeline,
  options: { seed: number; perSecond: number; team: string },
): SteadyWriter {
  const { team, perSecond } = options
  const random = seeded(options.seed)
  const kafka = new Kafka({
    clientId: 'steady',
    brokers: (process.env['KAFKA_BROKERS'] ?? '').split(','),
    logLevel: logLevel.NOTHING,
    retry: { retries: 10, initialRetryTime: 100 },
  })
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  const revisions = new Map<string, number>()
  /** What was appended, in order: entity, revision, and the latest append time of its request. */
  const appended: Appended[] = []
  const ids = Array.from({ length: 90 }, (_, at) => `s-${at}`)
  const isOver = new AbortController()

  const next = (): { id: string; revision: number } => {
    const id = random.pick(ids)
    const known = revisions.get(id) ?? 0
    if (known === gone) return { id, revision: 1 + random.below(1_000) }
    if (known > 1 && random.chance(0.1)) return { id, revision: 1 + random.below(known) }
    const revision = random.chance(0.0005) ? gone : known + 1
    revisions.set(id, revision)
    return { id, revision }
  }
  const value = (id: string, revision: number): string | null =>
    revision === gone
      ? null
      : JSON.stringify({ revision, submission: { ...submissionEntity({ id }), serialNumber: revision } })

  const running = (async () => {
    await producer.connect()
    while (!isOver.signal.aborted) {
      const startedAtMs = Date.now()
      const some = Array.from({ length: Math.ceil((perSecond * tickMs) / 1_000) }, next)
      const sent = await producer.send({
        topic: pipeline.names['TOPIC_SUBMISSIONS'] ?? '',
        acks: -1,
        messages: some.map(({ id, revision }) => ({ key: `${team}/${id}`, value: value(id, revision) })),
      })
      const atMs = Math.max(...sent.map(({ logAppendTime }) => Number(logAppendTime)))
      for (const each of some) appended.push({ ...each, atMs })
      await sleep(Math.max(0, startedAtMs + tickMs - Date.now()))
    }
    await producer.disconnect()
  })()

  return {
    team,
    stop: async () => {
      isOver.abort()
      await running
    },
    written: () => appended.length,
    check: ({ watermarkMs, items }) => {
      for (const [id, revision] of newestBefore(appended, watermarkMs)) {
        if (!holds(items.get(id), revision, revisions.get(id) === gone))
          throw new Error(`${id} is served at ${items.get(id)}, but ${revision} was appended before ${watermarkMs}`)
      }
      const invented = [...items].find(([id, revision]) => revision > (revisions.get(id) ?? 0))
      if (invented !== undefined) throw new Error(`${invented.join(' is served at ')}, which was never written`)
    },
  }
}

type Appended = { readonly id: string; readonly revision: number; readonly atMs: number }

function newestBefore(appended: readonly Appended[], watermarkMs: number): Map<string, number> {
  const newest = new Map<string, number>()
  for (const { id, revision, atMs } of appended)
    if (atMs < watermarkMs) newest.set(id, Math.max(revision, newest.get(id) ?? 0))
  return newest
}

/** Whether an item as it is served, or its absence, is no older than a revision. */
const holds = (served: number | undefined, revision: number, isGoneByNow: boolean): boolean =>
  served === undefined ? isGoneByNow : revision !== gone && served >= revision
