import type { Index } from './catalog.ts'
import { compileAggregations, compileQuery } from './query.ts'
import { type Cause, expectOnly, notSimulated, Refusal } from './refusal.ts'
import { type Entry, newestFirst, type StoredDocument, type View } from './shard.ts'

type Json = Readonly<Record<string, unknown>>

/** A shard of a search: the view searched, or why it fails. */
export type Target = { readonly index: Index; readonly shard: number } & (
  | { readonly view: View }
  | { readonly failure: Cause; readonly status: number }
)

type Hit = { readonly index: Index; readonly shard: number; readonly entry: Entry }

const sortByRow = '[{"teamId":"asc"},{"position":"desc"}]'
const sortByPlace = '["_shard_doc"]'
const sortByLogEnd = '[{"logPosition":{"order":"desc","unmapped_type":"long"}}]'
const sortByLog = '[{"logPosition":"asc"},{"position":"asc"}]'

/** Runs a search, in the point in time `pit` if given; returns the JSON of the response, with sources byte for byte. */
export function search(targets: readonly Target[], body: Json, allowsPartial: boolean, pit?: string): string {
  const { size = 10, from = 0, track_total_hits: tracksTotal, terminate_after: enough, aggs, ...others } = body
  expectOnly(['query', 'sort', 'search_after', ...hitOptions], others, 'a search')
  if (typeof tracksTotal !== 'boolean') throw notSimulated('a search that counts only some of its hits')
  const [shards, answering] = [shardsOf(targets, allowsPartial), targets.filter(isAnswering)]
  const sort = readSort(others['sort'], Number(size))
  const documents = findHits(answering, others['query'] as Json | undefined, sort)
  const total = Math.min(documents.length, Number(enough ?? documents.length))
  const page = after(documents, others['search_after'], sort).slice(Number(from), Number(from) + Number(size))
  const hits = page.map((hit) => renderHit(hit, others, sortValues(hit, sort, pit !== undefined)))
  const count = tracksTotal ? `"total":{"value":${total},"relation":"eq"},` : ''
  const aggregations =
    aggs === undefined ? '' : `,"aggregations":${JSON.stringify(aggregate(targets, aggs as Json, documents))}`
  const snapshot = pit === undefined ? '' : `"pit_id":${JSON.stringify(pit)},`
  const envelope = `"took":0,"timed_out":false,"_shards":${JSON.stringify({ ...shards, skipped: 0 })}`
  return `{${snapshot}${envelope},"hits":{${count}"max_score":null,"hits":[${hits.join()}]}${aggregations}}`
}

/** Answers a `_count` request. */
export function count(targets: readonly Target[], body: Json): object {
  expectOnly(['query'], body, 'a count')
  const shards = shardsOf(targets, true)
  const hits = findHits(targets.filter(isAnswering), body['query'] as Json | undefined, undefined)
  return { count: hits.length, _shards: { ...shards, skipped: 0 } }
}

type Answering = Extract<Target, { view: View }>
const isAnswering = (target: Target): target is Answering => 'view' in target

/** Throws unless enough shards answer. */
function shardsOf(targets: readonly Target[], allowPartial: boolean): object {
  const failed = targets.flatMap((target) => (isAnswering(target) ? [] : target))
  const counts = { total: targets.length, successful: targets.length - failed.length, failed: failed.length }
  const [first] = failed
  if (first === undefined) return counts
  const failures = failed.map(({ shard, index, failure }) => ({
    shard,
    index: index.name,
    node: null,
    reason: failure,
  }))
  if (failed.length < targets.length && allowPartial) return { ...counts, failures }
  throw new Refusal(
    failed.length === targets.length ? first.status : 503,
    {
      type: 'search_phase_execution_exception',
      reason: failed.length === targets.length ? 'all shards failed' : 'Partial shards failure',
      phase: 'query',
      grouped: true,
      failed_shards: failures,
    },
    [first.failure],
  )
}

type Sort = 'row' | 'place' | 'log' | 'log end' | undefined

function readSort(sort: unknown, size: number): Sort {
  const text = JSON.stringify(sort)
  if (text === sortByRow) return 'row'
  if (text === sortByPlace) return 'place'
  if (text === sortByLog) return 'log'
  if (text === sortByLogEnd) return 'log end'
  if (text !== undefined || size > 0) throw notSimulated(`the sort ${text}`)
  return undefined
}

function findHits(targets: readonly Answering[], query: Json | undefined, sort: Sort): readonly Hit[] {
  const hits: Hit[] = []
  for (const { index, shard, view } of targets) {
    const matches = compileQuery(query, index.mapping)
    if (sort === 'row') index.mapping.typeOf('position')
    for (const entry of sort === 'row' ? view.rows : view.entries)
      if (matches(entry.document)) hits.push({ index, shard, entry })
  }
  if (sort === 'log') return hits.sort(byLog)
  if (sort === 'log end') return hits.sort((a, b) => logPositionOf(b) - logPositionOf(a))
  return sort === 'row' && targets.length > 1 ? hits.sort((a, b) => newestFirst(a.entry, b.entry)) : hits
}

/** A document without a position comes last. */
const logPositionOf = ({ entry }: Hit): number =>
  Number(entry.document.fields['logPosition'] ?? Number.MAX_SAFE_INTEGER)

/** Missing values come last. */
const orderOf = ({ entry }: Hit): string => entry.document.fields['position'] ?? '\uffff'
const byLog = (a: Hit, b: Hit): number =>
  logPositionOf(a) - logPositionOf(b) || (orderOf(a) < orderOf(b) ? -1 : Number(orderOf(a) > orderOf(b)))
const afterInLog = (hits: readonly Hit[], [at, order]: readonly [number, string]): readonly Hit[] =>
  hits.filter((hit) => logPositionOf(hit) > at || (logPositionOf(hit) === at && orderOf(hit) > order))

const aggregate = (targets: readonly Target[], aggs: Json, hits: readonly Hit[]): object => {
  const [first] = targets
  if (first === undefined) throw notSimulated('aggregations of no index')
  return compileAggregations(aggs, first.index.mapping)(hits.map(({ entry }) => entry.document))
}

/** The `_shard_doc` of a hit: the shard in the upper 32 bits, as in Elasticsearch. */
const placeOf = ({ shard, entry }: Hit): number => shard * 2 ** 32 + entry.place

/** The hits after `search_after`. */
function after(hits: readonly Hit[], searchAfter: unknown, sort: Sort): readonly Hit[] {
  if (searchAfter === undefined) return hits
  if (sort === 'log') return afterInLog(hits, searchAfter as readonly [number, string])
  if (sort !== 'place') throw notSimulated('search_after but by place')
  const [place] = searchAfter as readonly number[]
  return hits.filter((hit) => placeOf(hit) > Number(place))
}

function sortValues(hit: Hit, sort: Sort, isSnapshot: boolean): readonly unknown[] {
  const { teamId = null, position = null } = hit.entry.document.fields
  if (sort === 'log') return [logPositionOf(hit), hit.entry.document.fields['position'] ?? null]
  if (sort === 'log end') return [logPositionOf(hit)]
  const values = sort === 'row' ? [teamId, position] : []
  return isSnapshot || sort === 'place' ? [...values, placeOf(hit)] : values
}

const hitOptions = ['version', '_source', 'stored_fields', 'docvalue_fields']

function renderHit({ index, entry: { document } }: Hit, options: Json, sort: readonly unknown[]): string {
  const { version, _source: source, stored_fields: stored, docvalue_fields: wanted } = options
  if (source !== undefined && source !== false) throw notSimulated('a search for parts of a source')
  if (stored !== undefined && stored !== '_none_') throw notSimulated('stored fields')
  const head = JSON.stringify({
    _index: index.name,
    ...(stored === undefined && { _id: document.id }),
    ...(version === true && { _version: document.version }),
    _score: null,
    ...(stored === undefined && { _routing: document.routing }),
  })
  const text = source === false ? '' : `,"_source":${document.source}`
  const fields = wanted === undefined ? '' : renderFields(document, wanted as readonly Json[])
  return `${head.slice(0, -1)}${text}${fields},"sort":${JSON.stringify(sort)}}`
}

function renderFields({ fields }: StoredDocument, wanted: readonly Json[]): string {
  const present = wanted.flatMap(({ field, format }) => {
    if (![undefined, 'strict_date_time'].includes(format as string | undefined))
      throw notSimulated(`the format ${String(format)}`)
    const value = fields[String(field)]
    return value === undefined ? [] : [[field, [value]]]
  })
  return present.length === 0 ? '' : `,"fields":${JSON.stringify(Object.fromEntries(present))}`
}
