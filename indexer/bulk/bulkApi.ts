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

type ResponseItem = { _id?: string; status?: number; error?: ItemError }
type Response = { items?: Partial<Record<string, ResponseItem>>[] }

export const bulkBounds: BulkBounds = { maxBulkBytes: 5 * 1024 * 1024, maxBulkDocuments: 2_000 }

/** `external`: a write replaces lower versions only; `external_gte`: also the same version. */
export type VersionType = 'external' | 'external_gte'

/**
 * How long Elasticsearch waits for a shard without a primary. After its default of a minute, the client would have given up, and lost the results of the
 * documents in all other shards.
 */
const primaryWait = '2s'

/** No `source` may contain a line break. */
export function encodeBulk(aliases: WriteAliases, writes: Documents, versionType: VersionType = 'external'): Buffer {
  const actions = writes.map((write) => actionLine(aliases, write, versionType))
  const bytes = writes.reduce((sum, { source }, at) => sum + (actions[at]?.length ?? 0) + source.length + 1, 0)
  const body = Buffer.allocUnsafe(bytes)
  let end = 0
  writes.forEach(({ source }, at) => {
    end += body.write(actions[at] ?? '', end, 'latin1')
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

/** Sends `writes`, encoded as `bulkBody`. Resolves with the outcome of each document, in order; rejects if the request fails as a whole. */
export async function sendBulk(
  client: Client,
  bulkBody: Buffer,
  writes: Documents,
  options: RequestOptions,
): Promise<ItemOutcome[]> {
  const items = await itemsOf(client, bulkBody, writes.length, options)
  return items.map((item, at) => {
    if (item?.status === undefined || item._id !== writes[at]?.id) throw new MalformedResponse(`item ${at}`)
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

export type BulkQueries = {
  /** For each document, whether its shard accepts writes now. Changes no document. */
  acceptsWrites(documents: Documents): Promise<boolean[]>
  /**
   * For each list document, the stored state, searchable or not; undefined if the copy that answers has no such document. Rejects if Elasticsearch returns an
   * error for any of them.
   */
  readStored(lists: Documents): Promise<(StoredState | undefined)[]>
}

export type BulkCalls = BulkQueries & {
  send(documents: Documents): Promise<ItemOutcome[]>
}

type WrittenIndices = { readonly indices: Indices; readonly writeAliases: WriteAliases }

type SenderOptions = {
  readonly metrics: Pick<PipelineMetrics, 'bulkBytes' | 'bulkSeconds' | 'countItems'>
  readonly signal: AbortSignal
  /** Whether a rebuild writes: `send` rejects once the rebuild's write alias is gone (`expectOwnIndices`). */
  readonly isRebuild: boolean
}

/** Returns the calls of a writer. Its bulk requests are measured and traced. */
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
      const stop = metrics.bulkSeconds.startTimer()
      const send = (): Promise<ItemOutcome[]> => sendBulk(client, body, documents, options).finally(stop)
      const outcomes = await bulkChannel.tracePromise(send, { documents, bytes: body.length })
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
    return items.map((item) => item?.error?.type === 'version_conflict_engine_exception')
  },
  async readStored(lists) {
    const stored = new Map<DocumentWrite, StoredState>()
    for (const [kind, listsOfKind] of Map.groupBy(lists, (list) => list.kind)) {
      const docs = listsOfKind.map(({ id, teamId }) => ({ _id: id, routing: teamId, _source: ['digest'] }))
      const response = await client.mget<{ digest?: string }>({ index: indices[kind], docs }, options)
      listsOfKind.forEach((list, at) => {
        const document = response.docs[at]
        if (document === undefined || 'error' in document || document._id !== list.id)
          throw new MalformedResponse(`${indices[kind]} did not return document ${at}`)
        if (document.found) stored.set(list, { version: document._version ?? 0, digest: document._source?.digest })
      })
    }
    return lists.map((list) => stored.get(list))
  },
})

/**
 * Encodes, for each document, a write to its shard that never succeeds: it requires sequence number 0 of a document that nobody writes. A shard that accepts
 * writes answers with a version conflict.
 */
const encodeProbes = (aliases: WriteAliases, documents: Documents): Buffer =>
  Buffer.from(
    documents
      .map(({ kind, teamId }) => {
        // Every id of a document has a `/`, so this id is never in use.
        const index = { _index: aliases[kind], _id: 'probe', routing: teamId, if_seq_no: 0, if_primary_term: 1 }
        return `${JSON.stringify({ index })}\n${samples.get(kind)}\n`
      })
      .join(''),
  )

/** Kind → a document of this release. An index with the mappings of another release refuses the sample, too: no record counts as at fault. */
const samples = sampleDocuments()

function sampleDocuments(): ReadonlyMap<DocumentKind, Buffer> {
  const key = Buffer.from('team/probe')
  const at = toInstant(0)
  const form = { id: 'probe', title: 'A form', scene: 'knowledge_quiz', createdAt: at, updatedAt: at }
  const submission = { id: 'probe', formId: 'f', submittedAt: at, updatedAt: at, result: { status: 'completed' } }
  const formResult = readFormRecord(key, Buffer.from(JSON.stringify({ revision: 1, form })))
  const submissionResult = readSubmissionRecord(key, Buffer.from(JSON.stringify({ revision: 1, submission })))
  if (!formResult.ok || !submissionResult.ok) throw new Error('a sample of the probe is rejected')
  const appendInfo = { changedAt: at, logPosition: logPosition({ partition: 0, offset: 0n }) }
  const documents = [
    ...formWrites(formResult.value, appendInfo),
    ...submissionWrites(submissionResult.value, appendInfo, true),
  ]
  return new Map(documents.map(({ kind, source }) => [kind, source]))
}
