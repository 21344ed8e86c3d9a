import type { DocumentKind } from '../../../src/core/stores/indices.ts'
import type { Counts } from '../results.ts'
import { type Assumptions, assumptionNames } from '../sizing/assumptions.ts'
import { spreadOf } from '../statistics.ts'
import { number, spreadText } from '../table.ts'
import { type AnswerCosts, answers } from './answerCosts.ts'
import { type IndexerRun, settings } from './indexerRuns.ts'
import type { RaisedWorld, RaisedWorlds } from './raise.ts'
import type { RedisBytes } from './redisBytes.ts'

/** What was measured beside latencies. */
export type Found = {
  readonly redis: RedisBytes
  readonly indexer: { readonly runs: ReadonlyMap<string, readonly IndexerRun[]>; readonly bytes: number }
  readonly answers: AnswerCosts
  readonly worlds: RaisedWorlds
}

const mebibyte = 1024 ** 2
const inMebibytes = (bytes: number | undefined): string => (bytes === undefined ? 'not told' : number(bytes / mebibyte))
const count = (value: number): string => value.toLocaleString('en')

/** All tables, the last one for docs/scale.md. */
export const countsOf = (found: Found): Counts[] => [
  weightsOf(found.worlds),
  shardsOf(found.worlds),
  answersOf(found.answers),
  indexersOf(found.indexer.runs),
  redisOf(found.redis),
  forThePage(found),
]

const weightsOf = ({ documents, teams }: RaisedWorlds): Counts => ({
  title: 'On disk and in the heap, one shard an index, merged',
  header: ['', 'documents', 'bytes each', 'of them stored', 'heap it added, MiB'],
  rows: [...documents, ...teams].flatMap((world) =>
    world.weights.map(({ kind, documents: stored, bytes, storedBytes }, at) => [
      `${count(world.submissions)} submissions, ${count(world.teams)} teams: ${kind}`,
      count(stored),
      number(bytes / stored),
      `${Math.round((100 * storedBytes) / bytes)} %`,
      at === 0 ? inMebibytes(world.heapBytes) : '',
    ]),
  ),
})

const shardsOf = ({ shards }: RaisedWorlds): Counts => ({
  title: 'By primary shards of each index, the same submissions',
  header: ['', 'documents/s by bulk', 'bytes each', 'heap it added, MiB'],
  rows: shards.map((world) => [
    `${world.shards}`,
    spreadText(spreadOf(world.bulkRates)),
    number(bytesEach(world, 'submissions')),
    inMebibytes(world.heapBytes),
  ]),
})

const answersOf = ({ costs, bytes }: AnswerCosts): Counts => ({
  title: 'CPU time of an answer, 16 at once',
  header: ['', 'API ms', 'Elasticsearch ms', 'answers/s', 'bytes'],
  rows: answers.map((name) => {
    const samples = costs.get(name) ?? []
    return [
      name,
      spreadText(spreadOf(samples.map(({ apiMs }) => apiMs))),
      spreadText(spreadOf(samples.map(({ elasticsearchMs }) => elasticsearchMs))),
      spreadText(spreadOf(samples.map(({ perSecond }) => perSecond))),
      count(bytes.get(name) ?? 0),
    ]
  }),
})

const indexersOf = (runs: ReadonlyMap<string, readonly IndexerRun[]>): Counts => ({
  title: 'One indexer into empty indices',
  header: ['', 'records/s', 'CPU ms a record', 'Elasticsearch ms a record', 'resident at most, MiB'],
  rows: settings.map(({ name }) => {
    const of = (value: (run: IndexerRun) => number): string => spreadText(spreadOf((runs.get(name) ?? []).map(value)))
    return [
      name,
      of((run) => run.recordsPerSecond),
      of((run) => run.indexerMs),
      of((run) => run.elasticsearchMs),
      of((run) => run.peakResidentBytes / mebibyte),
    ]
  }),
})

const redisOf = ({ perKey, perKeyInUse, perTeam }: RedisBytes): Counts => ({
  title: 'Redis',
  header: ['', 'bytes'],
  rows: [
    ['an account key, the only one of its team', number(perKey)],
    ['a key in use: its minute and its last use', number(perKeyInUse)],
    ['a team: its two change tokens', number(perTeam)],
  ],
})

/** The lines of docs/scale.md that this bench measures. */
function forThePage(found: Found): Counts {
  const measured = measuredOf(found)
  return {
    title: 'For docs/scale.md',
    header: ['', 'value'],
    rows: Object.entries(measured).map(([word, value]) => [
      assumptionNames[word as keyof Assumptions],
      Number.isFinite(value) ? plain(value) : 'not measured',
    ]),
  }
}

/** What a reader can put into the page: three digits that count. */
const plain = (value: number): string => Number(value.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 6 })

function measuredOf({ redis, indexer, answers: { costs, bytes }, worlds }: Found): Partial<Assumptions> {
  const withDetails = worlds.documents.findLast(({ hasDetails }) => hasDetails)
  const median = <T>(samples: readonly T[] | undefined, value: (sample: T) => number): number =>
    spreadOf((samples ?? []).map(value)).median
  const page = costs.get('page of 20')
  const [usual, , single] = settings.map(({ name }) => indexer.runs.get(name))
  return {
    listBytes: bytesEach(worlds.documents.at(-1), 'submissions'),
    detailBytes: bytesEach(withDetails, 'submission-details'),
    searchKeyShare: searchKeyShareOf(worlds.documents.at(-1)),
    formListBytes: bytesEach(withDetails, 'forms'),
    formDetailBytes: bytesEach(withDetails, 'form-details'),
    recordBytes: indexer.bytes,
    answerBytes: bytes.get('page of 20') ?? Number.NaN,
    answerApiMs: median(page, ({ apiMs }) => apiMs),
    answerElasticsearchMs: median(page, ({ elasticsearchMs }) => elasticsearchMs),
    unchangedApiMs: median(costs.get('304'), ({ apiMs }) => apiMs),
    recordElasticsearchMs: median(usual, ({ elasticsearchMs }) => elasticsearchMs),
    recordsPerSecond: median(usual, ({ recordsPerSecond }) => recordsPerSecond),
    partitionRecordsPerSecond: median(single, ({ recordsPerSecond }) => recordsPerSecond),
    indexerBytes: median(usual, ({ peakResidentBytes }) => peakResidentBytes),
    keyBytes: redis.perKey,
    keyInUseBytes: redis.perKeyInUse,
    teamBytes: redis.perTeam,
    shardHeapBytes: heapOfShard(worlds.shards),
  }
}

function bytesEach(world: RaisedWorld | undefined, kind: DocumentKind): number {
  const weight = world?.weights.find((known) => known.kind === kind)
  return weight === undefined ? Number.NaN : weight.bytes / weight.documents
}

function searchKeyShareOf(world: RaisedWorld | undefined): number {
  const list = world?.weights.find(({ kind }) => kind === 'submissions')
  return list === undefined ? Number.NaN : 1 - list.storedBytes / list.bytes
}

const indicesOfWorld = 4

/** How much more heap the most shards take than the fewest, by shard. */
function heapOfShard(worlds: readonly RaisedWorld[]): number {
  const [fewest, most] = [worlds.at(0), worlds.at(-1)]
  if (fewest?.heapBytes === undefined || most?.heapBytes === undefined) return Number.NaN
  return (most.heapBytes - fewest.heapBytes) / (indicesOfWorld * (most.shards - fewest.shards))
}
