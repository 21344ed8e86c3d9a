import type { Client } from '@elastic/elasticsearch'
import { encodeBulk, sendBulk } from '../../../../indexer/bulk/bulkApi.ts'
import { MalformedBulkResponse } from '../../../../indexer/bulk/bulkFailure.ts'
import type { DocumentWrite } from '../../../../indexer/convertRecord.ts'
import { deletedRevision } from '../../../../src/core/model/ids.ts'
import { documentKinds, physicalName } from '../../../../src/core/stores/indices.ts'
import { documentsOf } from '../../../support/bulkRecords.ts'

const [list, detail] = documentsOf('a', 3, '{"x":"1.50 €"}')
const writes = [list, { ...detail, version: deletedRevision, source: Buffer.from('{}') }] as DocumentWrite[]
const body = Buffer.alloc(0)
const options = { requestTimeout: 1_000, signal: new AbortController().signal }
/** A client whose every request is answered with `items`. */
const answering = (items: unknown): Client => ({ transport: { request: async () => ({ items }) } }) as unknown as Client
const item = (status: number, type?: string, id = 't/a') => ({
  index: { _id: id, status, ...(type !== undefined && { error: { type, reason: 'why' } }) },
})

type Indices = Parameters<typeof encodeBulk>[0]
const indices = Object.fromEntries(documentKinds.map((kind) => [kind, physicalName('p', kind, 1, 7)])) as Indices

test('each document is one action line and one source line, under an external version', () => {
  expect(encodeBulk(indices, writes).toString().split('\n')).toEqual([
    '{"index":{"_index":"p-forms-v1-7-write","_id":"t/a","routing":"t","version":3,"version_type":"external"}}',
    '{"x":"1.50 €"}',
    '{"index":{"_index":"p-form-details-v1-7-write","_id":"t/a","routing":"t","version":9007199254740991,"version_type":"external"}}',
    '{}',
    '',
  ])
})

test('each item is classified by its own status, in the order of the documents', async () => {
  const client = answering([item(400, 'document_parsing_exception'), item(503)])
  expect(await sendBulk(client, body, writes, options)).toEqual([
    { kind: 'reject', reason: '400 document_parsing_exception' },
    { kind: 'retry', reason: '503 without a reason' },
  ])
})

test.each([
  ['no items', undefined],
  ['too few items', [item(201)]],
  ['too many items', [item(201), item(201), item(201)]],
  ['an item of another document', [item(201), item(201, undefined, 't/b')]],
  ['an item of another action', [item(201), { delete: { _id: 't/a', status: 200 } }]],
  ['an item without a status', [item(201), { index: { _id: 't/a' } }]],
])('an answer with %s is not believed', async (_, items) => {
  await expect(sendBulk(answering(items), body, writes, options)).rejects.toThrow(MalformedBulkResponse)
})
