import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Partitioners, type Producer } from 'kafkajs'
import { expectTruth, follow, type TeamFollower } from '../model/follower.ts'
import { formEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { type OwnKafka, startDeadlineMs, startOwnKafka } from '../support/ownEngines.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { killPrograms, type Program } from '../support/programs.ts'
import type { HistoryRecord } from '../support/randomHistory.ts'
import { describeSteppingClock, makeSteppingClock, type SteppingClock } from '../support/steppingClock.ts'
import { temporaryFolder } from '../support/temporaryFolder.ts'
import { type WatermarkWatch, watchWatermark } from '../support/watchWatermark.ts'

const team = 'acme'
/** What the leader's clock differs by, one after the other. */
const offsetsMs = [0, -2_000, 0, -2_000, -4_000, -2_000]
const recordsEach = 6
/** Long enough for idle partitions to get a watermark from other clocks than the leader's. */
const idleMs = 1_300
const pauseMs = 50

let folder: string
let clock: SteppingClock
let kafka: OwnKafka | undefined
let pipeline: Pipeline | undefined
let producer: Producer | undefined
let watch: WatermarkWatch | undefined
let polling: Polling | undefined
const over = new AbortController()

afterAll(async () => {
  over.abort()
  await watch?.stop()
  await polling?.stop()
  await producer?.disconnect()
  killPrograms()
  await pipeline?.close()
  await kafka?.stop()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

type Appended = HistoryRecord & {
  readonly partition: number
  readonly appendTimeMs: number
  /** What the machine's clock read when Kafka had acknowledged it. */
  readonly acknowledgedAtMs: number
}

/** Appends a new form to one partition. */
async function appendForm(topic: string, number: number): Promise<Appended> {
  const id = `f-${number}`
  const partition = number % 2
  const key = Buffer.from(`${team}/${id}`)
  const value = Buffer.from(JSON.stringify({ revision: 1, form: formEntity({ id }) }))
  const [place] = (await producer?.send({ topic, acks: -1, messages: [{ key, value, partition }] })) ?? []
  const appendTimeMs = Number(place?.logAppendTime)
  return { topic: 'forms', key, value, isPoison: false, partition, appendTimeMs, acknowledgedAtMs: Date.now() }
}

type Answer = { readonly watermarkMs: number; readonly total: number }
type Polling = { stop(): Promise<readonly Answer[]> }

/** Asks for the list again and again, until it is stopped. */
function poll(api: Program, current: Pipeline): Polling {
  const answers: Answer[] = []
  const stop = new AbortController()
  const running = (async () => {
    while (!stop.signal.aborted) {
      const { headers, body } = await current.get(api, team, '/api/v1/forms?limit=1')
      const { totalDocs } = body as { totalDocs: number }
      answers.push({ watermarkMs: Date.parse(headers.get('replica-watermark') ?? ''), total: totalDocs })
      await sleep(pauseMs)
    }
  })()
  return {
    stop: async () => {
      stop.abort()
      await running
      return answers
    },
  }
}

/** How far (ms) the append times of a partition step back at most. */
function greatestStepBack(records: readonly Appended[]): number {
  const latest = new Map<number, number>()
  let greatest = 0
  for (const { partition, appendTimeMs } of records) {
    greatest = Math.max(greatest, (latest.get(partition) ?? appendTimeMs) - appendTimeMs)
    latest.set(partition, Math.max(latest.get(partition) ?? 0, appendTimeMs))
  }
  return greatest
}

const describeIfPossible = await describeSteppingClock()

describeIfPossible('While append times step back because leaders have other clocks', () => {
  let api: Program
  let current: Pipeline
  let follower: TeamFollower

  beforeAll(async () => {
    folder = await temporaryFolder('tidemark-clock-')
    clock = await makeSteppingClock(folder)
    kafka = await startOwnKafka(clock.environment)
    current = await openPipeline()
    pipeline = current
    await current.startIndexer()
    await current.createKeys([team])
    api = await current.startApi()
    await current.untilApplied(api, team)
    producer = current.kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
    await producer.connect()
    watch = watchWatermark(current, api, team)
    follower = follow(current, { url: api.url, team, list: 'forms', signal: over.signal })
    await eventually(() => follower.watermarkMs > 0)
  }, startDeadlineMs)

  test('a client that polls by watermark misses nothing, and no watermark goes back or passes the truth', async () => {
    const topic = current.names['TOPIC_FORMS'] ?? ''
    const records: Appended[] = []
    polling = poll(api, current)
    const appendSome = async (): Promise<void> => {
      for (let each = 0; each < recordsEach; each++) {
        records.push(await appendForm(topic, records.length))
        await sleep(pauseMs)
      }
    }
    for (const offsetMs of offsetsMs) {
      await appendSome()
      await clock.stepTo(offsetMs)
      await appendSome()
      await sleep(idleMs)
    }
    expect(greatestStepBack(records)).toBeGreaterThan(1_500)

    const lastMs = Date.now()
    await eventually(() => follower.watermarkMs > lastMs)
    const answers = await polling.stop()
    await follower.stop()
    expectTruth(follower, { teams: [team], records })
    expect(watch?.problems()).toEqual([])
    const owed = ({ watermarkMs }: Answer): number =>
      records.filter(({ acknowledgedAtMs }) => acknowledgedAtMs < watermarkMs).length
    expect(answers.filter((answer) => answer.total < owed(answer))).toEqual([])
    expect(Math.max(...answers.map(owed))).toBe(records.length)
  })
})
