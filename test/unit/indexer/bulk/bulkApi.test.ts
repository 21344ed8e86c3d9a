import type { Client } from '@elastic/elasticsearch'
import { sendBulk } from '../../../../indexer/bulk/bulkApi.ts'
import { MalformedBulkResponse } from '../../../../indexer/bulk/bulkFailure.ts'
import { documentsOf } from '../../../support/bulkRecords.ts'

const body = Buffer.alloc(0)
const options = { requestTimeout: 1_000, signal: new AbortController().signal }
/** A client whose every request is answered with `items`. */
const answering = (items: unknown): Client => ({ transport: { request: async () => ({ items }) } }) as unknown as Client
const written = (id = 't/a') => ({ index: { _id: id, status: 201 } })

test.each([
  ['no items', undefined],
  ['too few items', [written()]],
  ['too many items', [written(), written(), written()]],
  ['an item of another document', [written(), written('t/b')]],
  ['an item of another action', [written(), { delete: { _id: 't/a', status: 200 } }]],
  ['an item without a status', [written(), { index: { _id: 't/a' } }]],
])('a bulk response with %s counts as malformed', async (_, items) => {
  await expect(sendBulk(answering(items), body, documentsOf('a', 3), options)).rejects.toThrow(MalformedBulkResponse)
})
