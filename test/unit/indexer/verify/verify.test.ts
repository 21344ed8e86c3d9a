import { encodeBulk, sendBulk } from '../../../../indexer/bulk/bulkApi.ts'
import { convertRecord } from '../../../../indexer/convertRecord.ts'
import { deadLetterHeaders } from '../../../../indexer/deadLetters/deadLetters.ts'
import type { Generation } from '../../../../indexer/generations/generation.ts'
import { Generations } from '../../../../indexer/generations/generations.ts'
import { unreadLog } from '../../../../indexer/logReplacement.ts'
import { refreshEveryCopy } from '../../../../indexer/refreshEveryCopy.ts'
import { commitMetadata } from '../../../../indexer/startOffsets.ts'
import { DifferenceReport } from '../../../../indexer/verify/differenceReport.ts'
import { wholeShare } from '../../../../indexer/verify/share.ts'
import { verifyDocuments } from '../../../../indexer/verify/verify.ts'
import type { VerifyContext } from '../../../../indexer/verify/verifyContext.ts'
import type { GenerationTag } from '../../../../src/core/elasticsearch/indices.ts'
import type { ReadOptions } from '../../../../src/core/kafka/readTopic.ts'
import { noHeaders } from '../../../../src/core/kafka/recordHeaders.ts'
import type { KafkaSource } from '../../../../src/core/kafka/source.ts'
import { partitionName, type SourceRecord } from '../../../../src/core/kafka/sourceRecord.ts'
import type { Offset, TeamId } from '../../../../src/core/model/ids.ts'
import type { Clients } from '../../../simulation/engines/elasticsearch/simulatedElasticsearch.ts'
import { testConfig } from '../../../support/config.ts'
import { connectSimulated } from '../../../support/elasticsearchPair.ts'
import { formEntity, submissionEntity } from '../../../support/entities.ts'

const config = testConfig({ ELASTICSEARCH_URL: 'http://127.0.0.1:9', REDIS_URL: 'redis://127.0.0.1:9' })
const { TOPIC_FORMS: forms, TOPIC_SUBMISSIONS: submissions, TOPIC_DEAD_LETTERS: deadLetters } = config
const { signal } = new AbortController()
const request = { signal, requestTimeout: 30_000 }
const nowMs = Date.parse('2026-11-24T10:00:00.000Z')

let clients: Clients
let serving: Generation
/** Topic → its records, in one partition. */
let topics: Map<string, SourceRecord[]>
/** Topic → the offset that the indexer has committed. */
let committed: Map<string, bigint>
/** Topic → its first offset, where that is not 0. */
let lows: Map<string, bigint>
/** How many partitions each topic has; only the first one ever has records. */
let partitions: number
/** What the commits name as the generation that they are true for, if not the one that serves. */
let committedFor: GenerationTag | undefined
/** What happens when a step begins whose text contains these words. */
let onStep: Record<string, () => Promise<void>>

beforeEach(async () => {
  clients = connectSimulated()
  serving = await serve(1)
  topics = new Map([forms, submissions, deadLetters].map((topic) => [topic, []]))
  committed = new Map()
  lows = new Map()
  partitions = 1
  committedFor = undefined
  onStep = {}
})
afterEach(() => clients.elasticsearch.close())

async function serve(number: number, hasAnswers = true): Promise<Generation> {
  const built = { INDEX_PREFIX: config.INDEX_PREFIX, INDEX_SHARDS: 4, INDEX_ANSWERS: hasAnswers }
  const generations = new Generations(clients.elasticsearch, built, request)
  const generation = await generations.create(number)
  await generations.serve(generation)
  return generation
}

/** Appends a record; without an entity a deletion. */
function append(topic: string, key: string, value: string | null, headers = noHeaders): SourceRecord {
  const records = topics.get(topic) ?? []
  const record = { topic, partition: 0, offset: BigInt(records.length) as Offset, appendedAtMs: nowMs, headers }
  const appended = { ...record, key: Buffer.from(key), value: value === null ? null : Buffer.from(value) }
  records.push(appended)
  return appended
}
const submission = (id: string, revision: number): SourceRecord =>
  append(submissions, `acme/${id}`, JSON.stringify({ revision, submission: submissionEntity({ id }) }))
const form = (id: string, revision: number): SourceRecord =>
  append(forms, `acme/${id}`, JSON.stringify({ revision, form: formEntity({ id }) }))

/** Writes the documents of records, as an indexer does; `route` says by which team, if not by its own. */
async function index(records: readonly SourceRecord[], route?: string): Promise<void> {
  const documents = records.flatMap((record) => {
    const projection = convertRecord({ ...record, appendedAtMs: nowMs }, config)
    if (projection.kind !== 'documents') throw new Error('the record is a dead letter')
    return projection.documents.map((each) => (route === undefined ? each : { ...each, teamId: route as TeamId }))
  })
  await sendBulk(clients.elasticsearch, encodeBulk(serving.writeAliases, documents), documents, request)
  await refreshEveryCopy(clients.elasticsearch, Object.values(serving.indices), request)
}

/** Commits everything that was appended. */
function commit(): void {
  for (const topic of [forms, submissions]) committed.set(topic, BigInt(topics.get(topic)?.length ?? 0))
}

const source = {
  offsetRanges: async (names: readonly string[]) =>
    new Map(
      names.flatMap((topic) =>
        Array.from({ length: partitions }, (_, partition) => {
          const last = partition === 0 ? topics.get(topic)?.at(-1)?.offset : undefined
          const range = { low: lows.get(topic) ?? 0n, high: (last ?? -1n) + 1n }
          return [partitionName({ topic, partition }), { topic, partition, ...range }] as const
        }),
      ),
    ),
  committedOffsets: async (group: string) =>
    group !== config.CONSUMER_GROUP
      ? []
      : [...committed].map(([topic, position]) => ({
          ...{
            topic,
            partition: 0,
            position,
            metadata: commitMetadata(committedFor ?? serving.tag, 0n, 0, unreadLog),
          },
        })),
  readTopic: async ({ topic, spans, onRecord }: ReadOptions) => {
    for (const record of [...(topics.get(topic) ?? [])]) {
      const span = spans?.get(0)
      if (span === undefined || (record.offset >= span.from && record.offset < span.to)) await onRecord(record)
    }
  },
} as unknown as KafkaSource

/** Each difference as its kind, team, id and kind of documents, and how much was compared. */
async function verified(team?: string) {
  const differences = new DifferenceReport()
  let pending: (() => Promise<void>) | undefined
  const context = {
    ...{ config, source, elasticsearch: clients.elasticsearch, team, share: wholeShare, signal },
    report: {
      step: (text: string) => {
        pending = Object.entries(onStep).find(([words]) => text.includes(words))?.[1]
      },
      progress: () => undefined,
    },
    pauseAfterWork: async () => {
      const act = pending
      pending = undefined
      await act?.()
    },
  }
  const compared = await verifyDocuments(context as unknown as VerifyContext, differences)
  return { found: differences.report().lines.map((line) => line.split(' ').slice(0, 4).join(' ')), compared }
}

test('a record at the committed offset need not be indexed yet, and the record before it must be', async () => {
  submission('s1', 1)
  commit()
  submission('s2', 1)
  const { found, compared } = await verified()
  expect(found).toEqual(['missing acme s1 (submissions)', 'missing-detail acme s1 (submission-details)'])
  expect(compared).toEqual({ documents: 0, records: 2, uncommitted: 1 })
})

test('a document that is written while it is compared is no difference, nor is one with a newer state since', async () => {
  const late = [submission('s1', 1), submission('s2', 1)]
  commit()
  onStep['digests are compared'] = async () => {
    await index([...late.slice(0, 1), submission('s2', 7)])
  }
  expect((await verified()).found).toEqual([])
})

test('a dead-lettered record need not be indexed, and another record of its entity must be', async () => {
  await index([submission('s1', 1)])
  const rejected = [submission('s1', 2), submission('s2', 2)]
  submission('s2', 1)
  commit()
  for (const record of rejected) {
    const headers = deadLetterHeaders(record, { path: 'revision', rule: 'is wrong' }, new Date(nowMs))
    append(deadLetters, String(record.key), String(record.value), headers)
  }
  const missing = ['missing acme s2 (submissions)', 'missing-detail acme s2 (submission-details)']
  expect((await verified()).found).toEqual(missing)
})

test('a document in the shard of another team is unexpected', async () => {
  await index([submission('s1', 1)], 'umbrella')
  topics.get(submissions)?.pop()
  commit()
  const unexpected = ['unexpected acme s1 (submissions)', 'unexpected-detail acme s1 (submission-details)']
  expect((await verified()).found).toEqual(unexpected)
})

test('a verification gives no result if another generation serves in the end, also if the first one is gone', async () => {
  await index([submission('s1', 1), form('f1', 1)])
  commit()
  const replace = async (): Promise<void> => {
    const before = serving
    serving = await serve(2)
    await clients.elasticsearch.indices.delete({ index: Object.values(before.indices) })
  }
  onStep['digests are compared'] = replace
  await expect(verified()).rejects.toThrow('generation 2 serves meanwhile, not 1')
})

test('commits for another generation do not count', async () => {
  await index([form('f1', 1)])
  commit()
  committedFor = '2-0123456789abcdef' as GenerationTag
  await expect(verified()).rejects.toThrow('no indexer has committed')
})

test('a verification gives no result for indices of another release or another INDEX_ANSWERS', async () => {
  serving = await serve(2, false)
  await index([form('f1', 1)])
  commit()
  await expect(verified()).rejects.toThrow('generation 2 has mappings of another release')
})

describe('while documents are compared', () => {
  beforeEach(async () => {
    await index([form('f1', 1), form('f2', 1), form('f3', 1)])
    commit()
  })

  test.each([
    ['an indexer commits on', () => [form('f4', 1), commit()]],
    ['compaction removes the first record', () => lows.set(forms, 1n)],
  ])('%s: the result stays the same', async (_what, change) => {
    onStep['digests are compared'] = async () => {
      change()
    }
    expect((await verified()).found).toEqual([])
  })

  test.each([
    ['a partition is added', () => partitions++, 'was added meanwhile'],
    ['a topic is created anew', () => [topics.get(forms)?.pop(), commit()], 'was created anew'],
    ['a topic is created anew, with as many records', () => lows.delete(forms), 'was created anew'],
    ['a partition is gone', () => partitions--, 'was created anew'],
    ['an indexer sets its commits back', () => committed.set(forms, 2n), 'set back'],
  ])('%s: there is no result', async (_what, change, reason) => {
    partitions = 2
    lows.set(forms, 1n)
    onStep['digests are compared'] = async () => {
      change()
    }
    await expect(verified()).rejects.toThrow(reason)
  })
})

/** Which submission was appended at which second; one is missing in each gap. */
test.each([
  ['the bound is the append time as long as no record is missing', 'a@0 b@10', ['b']],
  ['a missing record was not appended before the record in front of it', 'a@1 gap b@10', ['a', 'b']],
  ['a record that is missing later was not either', 'a@0 gap b@10 gap c@20', []],
  ['nothing is known before the first record', 'gap a@10', []],
])('a document may not have changed before its record was appended: %s', async (_what, appended, found) => {
  const records = appended.split(' ').map((each) => {
    const [id = '', seconds] = each.split('@')
    return Object.assign(submission(id, 1), { seconds })
  })
  await index(records.filter(({ seconds }) => seconds !== undefined))
  commit()
  const left = records.flatMap(({ seconds, ...record }) =>
    seconds === undefined ? [] : [{ ...record, appendedAtMs: nowMs + 1_000 * Number(seconds) }],
  )
  topics.set(submissions, left)
  committed.set(submissions, BigInt(records.length))
  expect((await verified()).found).toEqual(found.map((id) => `time acme ${id} (submissions)`))
})
