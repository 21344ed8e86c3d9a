import { readTag } from '../../../../indexer/generations/generations.ts'

test.each([undefined, '', '1', 'x-0123456789abcdef', '1-0123'])('%j is no tag', (text) => {
  expect(readTag(text)).toBeUndefined()
})

test('a tag tells its number', () => {
  expect(readTag('12-0123456789abcdef')).toEqual({ number: 12, tag: '12-0123456789abcdef' })
})
