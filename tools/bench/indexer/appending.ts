import { pino } from 'pino'
import { connectKafka } from '../../../src/core/stores/kafka.ts'
import { createProducer } from '../../../src/core/stores/kafkaSink.ts'
import { pause } from '../../engines/waiting.ts'
import type { Stage } from '../stage.ts'
import type { SubmissionRecord, Submissions } from './submissions.ts'

/** An event of which somebody wants to know when it was acknowledged, on the clock of `performance`. */
export type Acknowledged = { readonly id: string; readonly acknowledgedMs: number }

export type Appending = {
  /** Makes the next event one of that team. Rejects when events cannot be appended. */
  next(teamId: string): Promise<Acknowledged>
  /** How many events are acknowledged. */
  appended(): number
  stop(): Promise<void>
}

type Wanted = { readonly teamId: string; resolve(acknowledged: Acknowledged): void; reject(error: unknown): void }

const tickMs = 10
const allReplicas = -1

/** Appends new submissions, so many a second, until it is stopped; those that are due at the same time go together. */
export async function startAppending(stage: Stage, submissions: Submissions, perSecond: number): Promise<Appending> {
  const { config, release } = stage
  const producer = createProducer(connectKafka(config, pino({ level: 'silent' })))
  release(() => producer.disconnect())
  await producer.connect()
  const over = new AbortController()
  const signal = AbortSignal.any([stage.signal, over.signal])
  const wanted: Wanted[] = []
  const beganMs = performance.now()
  let appended = 0

  const appendDue = async (): Promise<void> => {
    const due = Math.floor(((performance.now() - beganMs) * perSecond) / 1_000) - appended
    if (due <= 0) return
    const chosen = wanted.splice(0, due)
    const records = Array.from({ length: due }, (_, at) => submissions.next(Date.now(), chosen[at]?.teamId))
    try {
      await send(records)
    } catch (error) {
      for (const { reject } of chosen) reject(error)
      throw error
    }
    const acknowledgedMs = performance.now()
    appended += due
    for (const [at, { resolve }] of chosen.entries()) resolve({ id: records[at]?.id ?? '', acknowledgedMs })
  }
  const send = async (records: readonly SubmissionRecord[]): Promise<void> => {
    const messages = records.map(({ key, value }) => ({ key, value }))
    await producer.send({ topic: config.TOPIC_SUBMISSIONS, messages, acks: allReplicas })
  }
  const append = async (): Promise<void> => {
    while (!signal.aborted) {
      await appendDue()
      await pause(tickMs, signal).catch(() => undefined)
    }
  }

  const appending = append()
  const ended = appending.then((): never => {
    throw signal.reason
  })
  // It is told to whoever waits next, and at the end.
  ended.catch(() => undefined)
  return {
    next: (teamId) => {
      const acknowledged = new Promise<Acknowledged>((resolve, reject) => wanted.push({ teamId, resolve, reject }))
      return Promise.race([acknowledged, ended])
    },
    appended: () => appended,
    stop: async () => {
      over.abort(new Error('nothing is appended any more'))
      await appending
      await producer.disconnect()
    },
  }
}
