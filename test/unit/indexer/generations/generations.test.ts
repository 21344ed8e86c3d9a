import { foreignSettings, readTag } from '../../../../indexer/generations/generations.ts'

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
