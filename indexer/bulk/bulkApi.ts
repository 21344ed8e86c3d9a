import type { Client } from '@elastic/elasticsearch'
import { toInstant } from '../../src/core/model/instant.ts'
import { logPosition } from '../../src/core/model/logPosition.ts'
import { readFormRecord, readSubmissionRecord } from '../../src/core/model/record.ts'
import type { RequestOptions } from '../../src/core/stores/elasticsearch.ts'
import type { DocumentKind, Indices, WriteAliases } from '../../src/core/stores/indices.ts'
import { type Documents, type DocumentWrite, formWrites, submissionWrites } from '../convertRecord.ts'
import type { PipelineMetrics } from '../metrics.ts'
import { bulkChannel } from '../tracing.ts'
import { classifyItem, type ItemError, type ItemOutcome, MalformedBulkResponse } from './bulkFailure.ts'
import type { Stored } from './job.ts'

type ResponseItem = { _id?: string; status?: number; error?: ItemError }
type Response = { items?: Partial<Record<string, ResponseItem>>[] }

/** The bounds of one bulk request; a single record may be larger. */
export const bulkBounds = { maxBulkBytes: 5 * 1024 * 1024, maxBulkDocuments: 2_000 } as const

/** Which stored documents a write replaces: those of a lower version, or (`external_gte`) also one of the same version. */
export type VersionType = 'external' | 'external_gte'

/**
 * How long Elasticsearch waits for the primary of a shard. By default it is a minute, after which the client has given up as well, and nobody
 * knows what became of the other documents of the request.
 */
const primaryWait = '2s'

/** Encodes one bulk request: an action line and a source line for each document. `source` must hold no line break. */
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

/** ASCII only, as ids and index names are. */
function actionLine(aliases: WriteAliases, write: DocumentWrite, versionType: VersionType): string {
  const { kind, id, teamId, version, replacesSameVersion } = write
  const type: VersionType = replacesSameVersion ? 'external_gte' : versionType
  return `{"index":{"_index":"${aliases[kind]}","_id":"${id}","routing":"${teamId}","version":${version},"version_type":"${type}"}}\n`
}

/** Sends `writes`, encoded as `bulkBody`, and classifies each item of the response. Outcomes are in the order of `writes`. */
export async function sendBulk(client: Client, bulkBody: Buffer, writes: Documents, options: RequestOptions) {
  const items = await itemsOf(client, bulkBody, writes.length, options)
  return items.map((item, at) => {
    if (item?.status === undefined || item._id !== writes[at]?.id) throw new MalformedBulkResponse(`item ${at}`)
    return classifyItem(item.status, item.error)
  })
}

async function itemsOf(client: Client, bulkBody: Buffer, count: number, options: RequestOptions) {
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
  if (items.length !== count) throw new MalformedBulkResponse(`${items.length} items for ${count} documents`)
  return items.map((item) => item['index'])
}

/** Where a bulk writer writes, and reads what is stored. */
type Written = { readonly indices: Indices; readonly writeAliases: WriteAliases }

/** What a bulk writer asks of the indices beside its writes. */
export const bulkQuestions = (client: Client, { indices, writeAliases }: Written, options: RequestOptions) => ({
  /** Whether the shard of each document takes documents now. Nothing is written. */
  async takesWrites(documents: Documents): Promise<boolean[]> {
    const items = await itemsOf(client, encodeProbes(writeAliases, documents), documents.length, options)
    return items.map((item) => item?.error?.type === 'version_conflict_engine_exception')
  },
  /**
   * What Elasticsearch holds under the ids of list documents now, searchable or not; undefined where the asked copy has nothing. Throws unless
   * every document can be asked for.
   */
  async readStored(lists: Documents): Promise<(Stored | undefined)[]> {
    const found = new Map<DocumentWrite, Stored>()
    for (const [kind, ofKind] of Map.groupBy(lists, (list) => list.kind)) {
      const docs = ofKind.map(({ id, teamId }) => ({ _id: id, routing: teamId, _source: ['digest'] }))
      const answer = await client.mget<{ digest?: string }>({ index: indices[kind], docs }, options)
      ofKind.forEach((list, at) => {
        const stored = answer.docs[at]
        if (stored === undefined || 'error' in stored || stored._id !== list.id)
          throw new MalformedBulkResponse(`${indices[kind]} cannot be asked for document ${at}`)
        if (stored.found) found.set(list, { version: stored._version ?? 0, digest: stored._source?.digest })
      })
    }
    return lists.map((list) => found.get(list))
  },
})

/** Writes samples under an id that no document has, on condition that they were written before: a shard that works answers with a conflict. */
const encodeProbes = (aliases: WriteAliases, documents: Documents): Buffer =>
  Buffer.from(
    documents
      .map(({ kind, teamId }) => {
        const written = { if_seq_no: 0, if_primary_term: 1 }
        // Every id of a document has a `/` in it.
        const action = { _index: aliases[kind], _id: 'probe', routing: teamId, ...written }
        return `${JSON.stringify({ index: action })}\n${samples.get(kind)}\n`
      })
      .join(''),
  )

/** Documents as every release makes them, so that an index with other mappings refuses them. */
const samples = sampleDocuments()

function sampleDocuments(): ReadonlyMap<DocumentKind, Buffer> {
  const [key, at] = [Buffer.from('team/probe'), toInstant(0)]
  const form = { id: 'probe', title: 'A form', scene: 'knowledge_quiz', createdAt: at, updatedAt: at }
  const submission = { id: 'probe', formId: 'f', submittedAt: at, updatedAt: at, result: { status: 'completed' } }
  const forms = readFormRecord(key, Buffer.from(JSON.stringify({ revision: 1, form })))
  const submissions = readSubmissionRecord(key, Buffer.from(JSON.stringify({ revision: 1, submission })))
  if (!forms.ok || !submissions.ok) throw new Error('a sample of the probe is rejected')
  const recorded = { changedAt: at, logPosition: logPosition({ partition: 0, offset: 0n }) }
  const documents = [...formWrites(forms.value, recorded), ...submissionWrites(submissions.value, recorded, true)]
  return new Map(documents.map(({ kind, source }) => [kind, source]))
}

/** What a bulk writer asks of Elasticsearch. */
export type BulkCalls = ReturnType<typeof bulkSender>

/** The calls of an indexer's bulk writer, measured and traced. */
export function bulkSender(client: Client, written: Written, metrics: PipelineMetrics, signal: AbortSignal) {
  const options = { signal }
  return {
    /** Sends one bulk request; outcomes in the order of the documents. */
    send: async (documents: Documents): Promise<ItemOutcome[]> => {
      const body = encodeBulk(written.writeAliases, documents)
      metrics.bulkBytes.observe(body.length)
      const stop = metrics.bulkSeconds.startTimer()
      const send = (): Promise<ItemOutcome[]> => sendBulk(client, body, documents, options).finally(stop)
      const outcomes = await bulkChannel.tracePromise(send, { documents, bytes: body.length })
      metrics.countItems(outcomes)
      return outcomes
    },
    ...bulkQuestions(client, written, options),
  }
}
