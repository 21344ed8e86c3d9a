import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@elastic/elasticsearch'
import kafkajs from 'kafkajs'
import { formEntity, submissionEntity } from './entities.ts'
import type { Pipeline } from './pipeline.ts'
import type { Program } from './programs.ts'

export const checkerTeam = 'checker'

/** Writes new entities of one team steadily, and checks what watermark and commits promise of them. */
export type ConsistencyChecker = {
  /** Broken promises of watermark and commits, and answers that no outage excuses. */
  problems(): readonly string[]
  /** How often promises were checked. */
  checks(): { answers: number; commits: number }
  stop(): Promise<void>
}

type Kind = 'forms' | 'records'
type Place = { kind: Kind; id: string; partition: number; offset: bigint; appendedAtMs: number }
type Answer = { kind: Kind; total: number; watermarkMs: number }

const writeMs = 150
/** A new watermark is published a few times a second. */
const checkMs = 150
/** Every entity is searched for each time. */
const commitCheckMs = 400
const timeoutMs = 8_000

/** Starts to write and to check. The checker team must have a key already. */
export async function startConsistencyChecker(pipeline: Pipeline, api: Program): Promise<ConsistencyChecker> {
  const places: Place[] = []
  const answers: Answer[] = []
  const problems: string[] = []
  let commitChecks = 0
  const stop = new AbortController()
  const kafka = new kafkajs.Kafka({
    clientId: 'checker',
    brokers: (process.env['KAFKA_BROKERS'] ?? '').split(','),
    logLevel: kafkajs.logLevel.NOTHING,
    requestTimeout: timeoutMs,
    retry: { retries: 0 },
  })
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  const admin = kafka.admin()
  const elasticsearch = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '', maxRetries: 0 })
  await producer.connect()
  await admin.connect()
  const topicOf = (kind: Kind): string =>
    (kind === 'forms' ? pipeline.names['TOPIC_FORMS'] : pipeline.names['TOPIC_SUBMISSIONS']) ?? ''

  let count = 0
  const produceOne = async (): Promise<void> => {
    const kind = count % 2 === 0 ? 'forms' : 'records'
    const id = `w${count}`
    const entity = kind === 'forms' ? { form: formEntity({ id }) } : { submission: submissionEntity({ id }) }
    const message = { key: `${checkerTeam}/${id}`, value: JSON.stringify({ revision: 1, ...entity }) }
    const [sent] = await producer.send({ topic: topicOf(kind), acks: -1, timeout: timeoutMs, messages: [message] })
    count++
    if (sent === undefined) return
    const { partition, baseOffset, logAppendTime } = sent
    places.push({ kind, id, partition, offset: BigInt(baseOffset ?? 0), appendedAtMs: Number(logAppendTime) })
  }

  let turn = 0
  const checkAnswer = async (): Promise<void> => {
    const kind = turn++ % 2 === 0 ? 'forms' : 'records'
    const response = await fetch(`${api.url}/api/v1/${kind}?limit=1`, {
      headers: { authorization: `Bearer ${pipeline.keyOf(checkerTeam)}` },
      signal: AbortSignal.timeout(timeoutMs),
    })
    const body = (await response.json()) as { totalDocs: number }
    if (response.status === 503) return
    if (response.status !== 200) {
      problems.push(`answered ${response.status} at ${new Date().toISOString()}`)
      return
    }
    const watermark = response.headers.get('replica-watermark')
    if (watermark !== null) answers.push({ kind, total: body.totalDocs, watermarkMs: Date.parse(watermark) })
  }

  const checkCommits = async (): Promise<void> => {
    const known = [...places]
    for (const kind of ['forms', 'records'] as const) {
      const [committed] = await admin.fetchOffsets({
        groupId: pipeline.names['CONSUMER_GROUP'] ?? '',
        topics: [topicOf(kind)],
      })
      const searchable = await searchableIds(elasticsearch, pipeline.names['INDEX_PREFIX'] ?? '', kind)
      const upTo = new Map(committed?.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]))
      for (const place of known) {
        const isCommitted = place.kind === kind && place.offset < (upTo.get(place.partition) ?? -1n)
        if (isCommitted && !searchable.has(place.id)) problems.push(`${place.id} is committed, but not searchable`)
      }
    }
    commitChecks++
  }

  const steps = [
    { step: produceOne, restMs: writeMs },
    { step: checkAnswer, restMs: checkMs },
    { step: checkCommits, restMs: commitCheckMs },
  ]
  const running = steps.map(async ({ step, restMs }) => {
    while (!stop.signal.aborted) {
      // Engines are away now and then; what could not be produced is produced again.
      await step().catch(() => undefined)
      await sleep(restMs)
    }
  })

  return {
    // An acknowledgement may come after the answer that owed its record, so promises are judged afterwards.
    problems: () => [...new Set([...problems, ...answers.flatMap((answer) => brokenBy(answer, places))])],
    checks: () => ({ answers: answers.length, commits: commitChecks }),
    stop: async () => {
      stop.abort()
      await Promise.all(running)
      await Promise.all([producer.disconnect(), admin.disconnect(), elasticsearch.close()])
    },
  }
}

/** Every entity is new and stays, so that the number of those owed tells whether one is missing. */
function brokenBy({ kind, total, watermarkMs }: Answer, places: readonly Place[]): string[] {
  const owed = places.filter((place) => place.kind === kind && place.appendedAtMs < watermarkMs).length
  if (total >= owed) return []
  return [`${kind} as of ${new Date(watermarkMs).toISOString()}: ${total} in the answer, ${owed} were appended before`]
}

async function searchableIds(client: Client, prefix: string, kind: Kind): Promise<Set<string>> {
  const index = `${prefix}-${kind === 'forms' ? 'forms' : 'submissions'}`
  const { hits } = await client.search(
    { index, size: 10_000, _source: false, query: { term: { teamId: checkerTeam } } },
    { requestTimeout: timeoutMs },
  )
  return new Set(hits.hits.map(({ _id: id }) => (id ?? '').slice(checkerTeam.length + 1)))
}
