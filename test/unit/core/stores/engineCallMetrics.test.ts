import { callOf } from '../../../../src/core/stores/engineCallMetrics.ts'

test.each([
  ['/_bulk', 'bulk'],
  ['/tidemark-forms,tidemark-submissions/_search', 'search'],
  ['/tidemark-forms/_source/acme%2F_search', 'source'],
  ['/tidemark-forms-v1-1/_block/write', 'block'],
  ['/tidemark-forms-v1-1', 'index'],
])('%s is a call of %s', (path, call) => {
  expect(callOf(path)).toBe(call)
})
