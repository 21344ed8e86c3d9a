import type { Client } from '@elastic/elasticsearch'
import type { DocumentWrite } from '../../src/core/stores/documents.ts'
import { type DocumentKind, type PhysicalIndex, writeAliasOf } from '../../src/core/stores/indices.ts'
import { type ItemError, type ItemOutcome, judgeItem } from './bulkFailure.ts'

type AnswerItem = { _id?: string; status?: number; error?: ItemError }
type Answer = { items?: Partial<Record<string, AnswerItem>>[] }

/** The bounds of one bulk request; a single record may be larger. */
export const bulkBounds = { maxBulkBytes: 5 * 1024 * 1024, maxBulkDocuments: 2_000 } as const

/** The answer of a bulk request does not tell of the documents that were sent. */
export class UnfitAnswer extends Error {
  constructor(what: string) {
    super(`bulk answer does not fit its request: ${what}`)
    this.name = 'UnfitAnswer'
  }
}

/** Where each kind of document is stored. */
export type Indices = Readonly<Record<DocumentKind, PhysicalIndex>>

/** Action and source lines of one bulk request; `source` holds no line break. */
export function encodeBulk(indices: Indices, writes: readonly DocumentWrite[]): Buffer {
  const actions = writes.map((write) => actionLine(indices, write))
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

/** Every character of it is of ASCII, as ids and names of indices are. */
const actionLine = (indices: Indices, { kind, id, teamId, version }: DocumentWrite): string =>
  `{"index":{"_index":"${writeAliasOf(indices[kind])}","_id":"${id}","routing":"${teamId}","version":${version},"version_type":"external"}}\n`

/** Sends `writes`, encoded as `bulkBody`, and judges each item by its own status; outcomes come in the order of `writes`. */
export async function sendBulk(
  client: Client,
  bulkBody: Buffer,
  writes: readonly DocumentWrite[],
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<ItemOutcome[]> {
  const answer = await client.transport.request<Answer>(
    {
      method: 'POST',
      path: '/_bulk',
      querystring: {
        require_alias: true,
        filter_path: 'items.*._id,items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by.type',
      },
      bulkBody,
    },
    { requestTimeout: options.timeoutMs, signal: options.signal },
  )
  const items = answer.items ?? []
  if (items.length !== writes.length) throw new UnfitAnswer(`${items.length} items for ${writes.length} documents`)
  return items.map((item, at) => {
    const index = item['index']
    if (index?.status === undefined || index._id !== writes[at]?.id) throw new UnfitAnswer(`item ${at}`)
    return judgeItem(index.status, index.error)
  })
}
