import type { Client } from '@elastic/elasticsearch'
import type { RequestOptions } from '../../src/core/elasticsearch/elasticsearch.ts'
import type { DocumentKind, Indices, WriteAliases } from '../../src/core/elasticsearch/indices.ts'
import { toInstant } from '../../src/core/model/instant.ts'
import { logPosition } from '../../src/core/model/logPosition.ts'
import { readFormRecord, readSubmissionRecord } from '../../src/core/model/record.ts'
import { type Documents, type DocumentWrite, formWrites, submissionWrites } from '../convertRecord.ts'
import type { PipelineMetrics } from '../metrics.ts'
import { bulkChannel } from '../tracing.ts'
import { classifyItem, expectOwnIndices, type ItemError, type ItemOutcome, MalformedResponse } from './bulkFailure.ts'
import type { BulkBounds } from './bulkQueue.ts'
import type { StoredState } from './job.ts'

/** What is requested by `filter_path`, such as `{"index": {"_id": "acme/f1", "status": 201}}` for each document. */
type ResponseItem = { _id?: string; status?: number; error?: ItemError }
type Response = { items?: Partial<Record<string, ResponseItem>>[] }

export const bulkBounds: BulkBounds = { maxBulkBytes: 5 * 1024 * 1024, maxBulkDocuments: 2_000 }

/** `external`: a write replaces lower versions only; `external_gte`: also the same version. */
export type VersionType = 'external' | 'external_gte'

/** How long Elasticsearch waits for a shard without a primary. By default it waits longer than the client, which would not get the results of other shards. */
const primaryWait = '2s'

/** For each document, a line with the action and a line with the source, which must not contain a line break. */
export function encodeBulk(aliases: WriteAliases, writes: Documents, versionType: VersionType = 'external'): Buffer {
  const actions = writes.map((write) => actionLine(aliases, write, versionType))
  const sourceBytes = writes.reduce((sum, { source }) => sum + source.length + 1, 0)
  const bytes = actions.reduce((sum, action) => sum + action.length, sourceBytes)
  const body = Buffer.allocUnsafe(bytes)
  let end = 0
  writes.forEach(({ source }, index) => {
    end += body.write(actions[index] ?? '', end, 'latin1')
    end += source.copy(body, end)
    end = body.writeUInt8(lineBreak, end)
  })
  return body
}

const lineBreak = 0x0a

/** Ids and index names are ASCII, and need no escapes in JSON. */
function actionLine(aliases: WriteAliases, write: DocumentWrite, versionType: VersionType): string {
  const { kind, id, teamId, version, replacesSameVersion } = write
  const type: VersionType = replacesSameVersion ? 'external_gte' : versionType
  return `{"index":{"_index":"${aliases[kind]}","_id":"${id}","routing":"${teamId}","version":${version},"version_type":"${type}"}}\n`
}

/** Sends `writes`, encoded as `bulkBody`. Resolves with their outcomes, in order; rejects if the request fails as a whole. */
export async function sendBulk(
  client: Client,
  bulkBody: Buffer,
  writes: Documents,
  options: RequestOptions,
): Promise<ItemOutcome[]> {
  const items = await itemsOf(client, bulkBody, writes.length, options)
  return items.map((item, index) => {
    if (item?.status === undefined || item._id !== writes[index]?.id) throw new MalformedResponse(`item ${index}`)
    return classifyItem(item.status, item.error)
  })
}

async function itemsOf(
  client: Client,
  bulkBody: Buffer,
  count: number,
  options: RequestOptions,
): Promise<(ResponseItem | undefined)[]> {
  const response = await client.transport.request<Response>(
    {
      method: 'POST',
      path: '/_bulk',
      querystring: {
        require_alias: true,
        timeout: primaryWait,
        filter_path: 'items.*._id,items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by.type',
      },
      bulkBody,
    },
    options,
  )
  const items = response.items ?? []
  if (items.length !== count) throw new MalformedResponse(`${items.length} items for ${count} documents`)
  return items.map((item) => item['index'])
}

/** Calls that change no document. */
export type BulkQueries = {
  /** For each document, whether its shard accepts writes now. */
  acceptsWrites(documents: Documents): Promise<boolean[]>
  /**
   * What is stored of each document, searchable or not; undefined if the answering copy of the shard lacks the document. Rejects if Elasticsearch returns an error
   * for any document.
   */
  readStored(lists: Documents): Promise<(StoredState | undefined)[]>
}

export type BulkCalls = BulkQueries & {
  /** Resolves and rejects as `sendBulk`. */
  send(documents: Documents): Promise<ItemOutcome[]>
}

/** The aliases lead to the indices until another generation takes over. */
type WrittenIndices = { readonly indices: Indices; readonly writeAliases: WriteAliases }

type SenderOptions = {
  readonly metrics: Pick<PipelineMetrics, 'bulkBytes' | 'bulkSeconds' | 'countItems'>
  readonly signal: AbortSignal
  /** In a rebuild, `send` rejects once the write alias is gone (`expectOwnIndices`). */
  readonly isRebuild: boolean
}

/** The calls of a writer. Bulk requests are measured and traced. */
export function bulkSender(
  client: Client,
  written: WrittenIndices,
  { metrics, signal, isRebuild }: SenderOptions,
): BulkCalls {
  const options = { signal }
  return {
    send: async (documents) => {
      const body = encodeBulk(written.writeAliases, documents)
      metrics.bulkBytes.observe(body.length)
      const stopTimer = metrics.bulkSeconds.startTimer()
      const sendTimed = (): Promise<ItemOutcome[]> => sendBulk(client, body, documents, options).finally(stopTimer)
      const outcomes = await bulkChannel.tracePromise(sendTimed, { documents, bytes: body.length })
      metrics.countItems(outcomes)
      return isRebuild ? expectOwnIndices(outcomes) : outcomes
    },
    ...bulkQueries(client, written, options),
  }
}

export const bulkQueries = (
  client: Client,
  { indices, writeAliases }: WrittenIndices,
  options: RequestOptions,
): BulkQueries => ({
  async acceptsWrites(documents) {
    const items = await itemsOf(client, encodeProbes(writeAliases, documents), documents.length, options)
    // The version conflict shows that the shard accepts writes.
    return items.map((item) => item?.error?.type === 'version_conflict_engine_exception')
  },
  async readStored(lists) {
    const stored = new Map<DocumentWrite, StoredState>()
    for (const [kind, listsOfKind] of Map.groupBy(lists, (list) => list.kind)) {
      const docs = listsOfKind.map(({ id, teamId }) => ({ _id: id, routing: teamId, _source: ['digest'] }))
      const response = await client.mget<{ digest?: string }>({ index: indices[kind], docs }, options)
      listsOfKind.forEach((list, index) => {
        const document = response.docs[index]
        if (document === undefined || 'error' in document || document._id !== list.id)
          throw new MalformedResponse(`${indices[kind]} did not return document ${index}`)
        if (document.found) stored.set(list, { version: document._version ?? 0, digest: document._source?.digest })
      })
    }
    return lists.map((list) => stored.get(list))
  },
})

/** Probes of shards: writes that never succeed, as they require sequence number 0 of a document that does not exist. */
const encodeProbes = (aliases: WriteAliases, documents: Documents): Buffer =>
  Buffer.from(
    documents
      .map(({ kind, teamId }) => {
        // Every id of a real document has a `/`.
        const index = { _index: aliases[kind], _id: 'probe', routing: teamId, if_seq_no: 0, if_primary_term: 1 }
        return `${JSON.stringify({ index })}\n${sampleSources.get(kind)}\n`
      })
      .join(''),
  )

/** Kind → a document's source as this release writes it. An index with mappings of another release refuses these, too: then it is not writable, and no record is suspected. */
const sampleSources = renderSamples()

function renderSamples(): ReadonlyMap<DocumentKind, Buffer> {
  const key = Buffer.from('team/probe')
  const time = toInstant(0)
  const form = { id: 'probe', title: 'A form', scene: 'knowledge_quiz', createdAt: time, updatedAt: time }
  const submission = { id: 'probe', formId: 'f', submittedAt: time, updatedAt: time, result: { status: 'completed' } }
  const formResult = readFormRecord(key, Buffer.from(JSON.stringify({ revision: 1, form })))
  const submissionResult = readSubmissionRecord(key, Buffer.from(JSON.stringify({ revision: 1, submission })))
  if (!formResult.ok || !submissionResult.ok) throw new Error('a sample of the probe is rejected')
  const appendInfo = { changedAt: time, logPosition: logPosition({ partition: 0, offset: 0n }) }
  const documents = [
    ...formWrites(formResult.value, appendInfo),
    ...submissionWrites(submissionResult.value, appendInfo, true),
  ]
  return new Map(documents.map(({ kind, source }) => [kind, source]))
}
