import type { Client } from '@elastic/elasticsearch'
import { Registry } from 'prom-client'
import { bulkSender, sendBulk } from '../../../../indexer/bulk/bulkApi.ts'
import { MalformedResponse } from '../../../../indexer/bulk/bulkFailure.ts'
import { pipelineMetrics } from '../../../../indexer/metrics.ts'
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
  await expect(sendBulk(answering(items), body, documentsOf('a', 3), options)).rejects.toThrow(MalformedResponse)
})

test('a write to an alias that is gone waits for an operator, and ends a rebuild', async () => {
  const gone = { status: 404, error: { type: 'index_not_found_exception' } }
  const client = answering(['t/a', 't/a'].map((_id) => ({ index: { _id, ...gone } })))
  const names = { forms: 'f', 'form-details': 'fd', submissions: 's', 'submission-details': 'sd' }
  const sending = (isRebuild: boolean) => {
    const metrics = pipelineMetrics(new Registry(), [])
    const written = { indices: names, writeAliases: names } as never
    return bulkSender(client, written, { metrics, signal: options.signal, isRebuild }).send(documentsOf('a', 3))
  }
  expect((await sending(false)).map(({ kind }) => kind)).toEqual(['pause', 'pause'])
  await expect(sending(true)).rejects.toThrow('taken over by another one')
})
