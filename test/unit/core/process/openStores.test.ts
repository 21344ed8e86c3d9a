import { EventEmitter } from 'node:events'
import type { Client } from '@elastic/elasticsearch'
import { Registry } from 'prom-client'
import { measureCalls } from '../../../../src/core/process/openStores.ts'

test.each([
  ['/_bulk', 'bulk'],
  ['/tidemark-forms,tidemark-submissions/_search', 'search'],
  ['/tidemark-forms/_source/acme%2F_search', 'source'],
  ['/tidemark-forms-v1-1/_block/write', 'block'],
  ['/tidemark-forms-v1-1', 'index'],
])('a request to %s is measured as %s', async (path, call) => {
  const registry = new Registry()
  const diagnostic = new EventEmitter()
  measureCalls(registry).ofElasticsearch({ diagnostic } as unknown as Client)
  diagnostic.emit('response', null, { meta: { duration: 1, request: { params: { path } } } })
  const counts = 'tidemark_engine_call_duration_seconds_count'
  expect(await registry.metrics()).toContain(`${counts}{engine="elasticsearch",call="${call}"} 1`)
})
