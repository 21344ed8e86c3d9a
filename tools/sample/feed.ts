import { setTimeout as sleep } from 'node:timers/promises'
import type { Producer } from 'kafkajs'
import type { Config } from '../../src/core/config/config.ts'
import type { World, WorldRecord } from './world.ts'

export type Topics = Pick<Config, 'TOPIC_FORMS' | 'TOPIC_SUBMISSIONS'>

export const namesOf = ({ TOPIC_FORMS, TOPIC_SUBMISSIONS }: Topics): string[] => [TOPIC_FORMS, TOPIC_SUBMISSIONS]

/** In UTF-8 below 1 MB, the default limit of a request to brokers. */
const maxSendCharacters = 256 * 1024
const allReplicas = -1
const stepMs = 1_000

/** `report` gets the number of submissions that are produced so far. */
export async function producePast(
  world: World,
  to: { producer: Producer; topics: Topics; signal: AbortSignal; report: (submissions: number) => void },
): Promise<void> {
  for (const chunk of chunksOf(world.past(), maxSendCharacters)) {
    to.signal.throwIfAborted()
    await produce(chunk, to.producer, to.topics)
    to.report(world.teams.reduce((sum, { id }) => sum + world.counts(id).submissions, 0))
  }
}

/** In order; the values of a chunk have about `size` characters. */
export function* chunksOf<T extends { value: string | null }>(records: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = []
  let characters = 0
  for (const record of records) {
    chunk.push(record)
    characters += record.value?.length ?? 0
    if (characters < size) continue
    yield chunk
    chunk = []
    characters = 0
  }
  if (chunk.length > 0) yield chunk
}

/**
 * Produces a step of the world every second until `signal` aborts. If Kafka refuses records, `onFailure` gets the reason, and they are sent again
 * before the next step.
 */
export async function produceOn(
  world: World,
  to: {
    producer: Producer
    topics: Topics
    signal: AbortSignal
    clock: () => number
    onFailure: (why: string) => void
  },
): Promise<void> {
  let waiting: WorldRecord[] = []
  while (!to.signal.aborted) {
    if (waiting.length === 0) waiting = world.step(to.clock())
    await produce(waiting, to.producer, to.topics).then(
      () => {
        waiting = []
      },
      (error: Error) => to.onFailure(error.message),
    )
    await sleep(stepMs, undefined, { signal: to.signal }).catch(() => undefined)
  }
}

async function produce(records: readonly WorldRecord[], producer: Producer, topics: Topics): Promise<void> {
  const messagesOf = (topic: WorldRecord['topic']) =>
    records.filter((record) => record.topic === topic).map(({ key, value }) => ({ key, value }))
  const topicMessages = [
    { topic: topics.TOPIC_FORMS, messages: messagesOf('forms') },
    { topic: topics.TOPIC_SUBMISSIONS, messages: messagesOf('submissions') },
  ].filter(({ messages }) => messages.length > 0)
  if (topicMessages.length > 0) await producer.sendBatch({ topicMessages, acks: allReplicas })
}
