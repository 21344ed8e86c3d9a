import { chooseGeneration, type FoundGeneration, readTag } from '../../../../indexer/generations/generations.ts'
import type { GenerationTag } from '../../../../src/core/stores/indices.ts'

const tagOf = (number: number, fingerprint = '0123456789abcdef'): GenerationTag =>
  `${number}-${fingerprint}` as GenerationTag
const known = (number: number, fingerprint?: string) => ({ number, tag: tagOf(number, fingerprint) })

function found(
  number: number,
  state: { isServing?: boolean; hasCurrentMappings?: boolean; isComplete?: boolean } = {},
): FoundGeneration {
  const { isServing = false, hasCurrentMappings = true, isComplete = true } = state
  const complete = {
    number,
    tag: tagOf(number),
    indices: {} as never,
    isServing,
    isWritable: true,
    hasServed: isServing,
    hasCurrentMappings,
  }
  return { number, indices: new Map(), hasCurrentMappings, complete: isComplete ? complete : undefined }
}

test('the generation that serves is written, whatever else there is', () => {
  const all = [found(1), found(2, { isServing: true }), found(3)]
  expect(chooseGeneration(all, known(3))).toEqual({ number: 2, exists: true })
  expect(chooseGeneration(all, undefined)).toEqual({ number: 2, exists: true })
})

test('without one that serves, the newest that was written goes on: only its aliases are gone', () => {
  expect(chooseGeneration([found(1), found(2), found(3)], known(2))).toEqual({ number: 2, exists: true })
})

test('a generation that was lost is followed by one of a number never seen', () => {
  expect(chooseGeneration([], undefined)).toEqual({ number: 1, exists: false })
  expect(chooseGeneration([], known(4))).toEqual({ number: 5, exists: false })
  expect(chooseGeneration([found(4, { isComplete: false })], known(4))).toEqual({ number: 5, exists: false })
})

test('indices of the same names that are not the same are not taken for them', () => {
  expect(chooseGeneration([found(4)], known(4, 'fedcba9876543210'))).toEqual({ number: 5, exists: false })
})

test('one that another process is creating is completed, not created twice', () => {
  expect(chooseGeneration([found(5, { isComplete: false })], known(4))).toEqual({ number: 5, exists: false })
  expect(chooseGeneration([found(5)], known(4))).toEqual({ number: 5, exists: true })
})

test('half made indices of another release are passed over', () => {
  expect(chooseGeneration([found(5, { hasCurrentMappings: false })], known(4))).toEqual({ number: 6, exists: false })
})

test.each([undefined, '', '1', 'x-0123456789abcdef', '1-0123'])('%j is no tag', (text) => {
  expect(readTag(text)).toBeUndefined()
})

test('a tag tells its number', () => {
  expect(readTag('12-0123456789abcdef')).toEqual({ number: 12, tag: '12-0123456789abcdef' })
})
