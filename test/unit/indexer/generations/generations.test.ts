import { foreignSettings, readTag, unlessRemoved } from '../../../../indexer/generations/generations.ts'
import type { Indices } from '../../../../src/core/stores/indices.ts'
import { responseError } from '../../../support/bulkRecords.ts'

test.each([undefined, '', '1', 'x-0123456789abcdef', '1-0123'])('%j is no tag', (text) => {
  expect(readTag(text)).toBeUndefined()
})

test('a tag tells its number', () => {
  expect(readTag('12-0123456789abcdef')).toEqual({ number: 12, tag: '12-0123456789abcdef' })
})

test.each([
  [{ settings: { index: { lifecycle: { name: 'hot-warm' } } } }, ['forms has index.lifecycle.name=hot-warm']],
  [{ mappings: { _source: { excludes: ['b'] } } }, ['forms has _source={"excludes":["b"]}']],
  [{ mappings: { _source: { includes: ['b'] } } }, ['forms has _source={"includes":["b"]}']],
  [{ mappings: { _source: { enabled: false } } }, ['forms has _source={"enabled":false}']],
  [{ settings: { index: { uuid: 'u' } }, mappings: { _source: { enabled: true } } }, []],
  [{}, []],
])('%j loses documents, or parts of them: %j', (state, problems) => {
  expect(foreignSettings('forms', state)).toEqual(problems)
})

test('a missing index of another generation is no sign that this one is removed', () => {
  const indices = { forms: 'f-v1-2' } as unknown as Indices
  const missing = (index: string) => {
    const reason = { type: 'index_not_found_exception', reason: `no such index [${index}]` }
    return responseError(404, { error: { ...reason, root_cause: [reason] } })
  }
  expect(unlessRemoved({ indices })(missing('f-v1-2'))).toBeUndefined()
  expect(() => unlessRemoved({ indices })(missing('f-v1-4'))).toThrow('no such index [f-v1-4]')
})
