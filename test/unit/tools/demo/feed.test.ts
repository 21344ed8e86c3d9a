import type { Producer, ProducerBatch } from 'kafkajs'
import { produceOn, producePast } from '../../../../tools/demo/feed.ts'
import { createWorld, type WorldRecord } from '../../../../tools/demo/world.ts'
import { eventually } from '../../../support/eventually.ts'

const topics = { TOPIC_FORMS: 'own-forms', TOPIC_SUBMISSIONS: 'own-submissions' }
const nowMs = Date.parse('2026-11-21T11:00:00.000Z')
const worldOf = (submissions: number) => createWorld({ seed: 'feed', nowMs, submissions })

/** Takes batches until it is told to fail. */
function recordingProducer() {
  const batches: ProducerBatch[] = []
  const state = { failing: false }
  const sendBatch = async (batch: ProducerBatch) => {
    if (state.failing) throw new Error('no broker')
    batches.push(batch)
    return []
  }
  const received = (topic: string) =>
    batches.flatMap(({ topicMessages = [] }) =>
      topicMessages.filter((each) => each.topic === topic).flatMap(({ messages }) => messages),
    )
  return { producer: { sendBatch } as unknown as Producer, batches, received, state }
}

const messagesOf = (records: readonly WorldRecord[], topic: WorldRecord['topic']) =>
  records.filter((record) => record.topic === topic).map(({ key, value }) => ({ key, value }))

test('the past goes to its topics in order, acknowledged by all replicas, in batches that brokers accept', async () => {
  const { producer, batches, received } = recordingProducer()
  const reported: number[] = []
  const signal = AbortSignal.timeout(30_000)
  await producePast(worldOf(400), { producer, topics, signal, report: (submissions) => reported.push(submissions) })
  const records = [...worldOf(400).past()]
  expect(received('own-forms')).toEqual(messagesOf(records, 'forms'))
  expect(received('own-submissions')).toEqual(messagesOf(records, 'submissions'))
  expect(batches.every(({ acks }) => acks === -1)).toBe(true)
  const sizes = batches.map((batch) => Buffer.byteLength(JSON.stringify(batch)))
  expect(sizes.length).toBeGreaterThan(2)
  expect(Math.max(...sizes)).toBeLessThan(1_000_000)
  expect(reported.at(-1)).toBe(400)
})

test('a stopped demo produces no more', async () => {
  const { producer, batches } = recordingProducer()
  const reason = new Error('stopped')
  const past = producePast(worldOf(400), {
    producer,
    topics,
    signal: AbortSignal.abort(reason),
    report: () => undefined,
  })
  await expect(past).rejects.toBe(reason)
  expect(batches).toEqual([])
})

test('records that Kafka refuses are sent again, before any later record', async () => {
  const { producer, batches, received, state } = recordingProducer()
  const stop = new AbortController()
  const failures: string[] = []
  let ticks = 0
  state.failing = true
  const clock = (): number => nowMs + ++ticks * 1_000
  const onFailure = (why: string): void => {
    failures.push(why)
    state.failing = false
  }
  const world = worldOf(0)
  const past = [...world.past()]
  const going = produceOn(world, { producer, topics, signal: stop.signal, clock, onFailure })
  await eventually(() => batches.length >= 2)
  stop.abort()
  await going
  const twin = worldOf(0)
  expect([...twin.past()]).toEqual(past)
  const steps = Array.from({ length: ticks }, (_, tick) => twin.step(nowMs + (tick + 1) * 1_000)).flat()
  expect(failures).toEqual(['no broker'])
  expect(received('own-submissions')).toEqual(messagesOf(steps, 'submissions'))
})
