import { chooseGeneration, readersOf, rebuildSteps, stateOf } from '../../../../indexer/generations/foundState.ts'
import type { FoundGeneration } from '../../../../indexer/generations/generations.ts'
import type { GenerationTag } from '../../../../src/core/stores/indices.ts'

const tagOf = (number: number, fingerprint = '0123456789abcdef'): GenerationTag =>
  `${number}-${fingerprint}` as GenerationTag
const known = (number: number, fingerprint?: string) => ({ number, tag: tagOf(number, fingerprint) })

function found(
  number: number,
  state: { isServing?: boolean; hasServed?: boolean; hasCurrentMappings?: boolean; isComplete?: boolean } = {},
): FoundGeneration {
  const { isServing = false, hasServed = isServing, hasCurrentMappings = true, isComplete = true } = state
  const complete = {
    number,
    tag: tagOf(number),
    indices: {} as never,
    createdAtMs: 0,
    isServing,
    isWritable: true,
    hasServed,
    hasCurrentMappings,
    foreignSettings: [],
  }
  return { number, indices: new Map(), hasCurrentMappings, complete: isComplete ? complete : undefined }
}

const choice = (...[all, newest]: Parameters<typeof chooseGeneration>) => {
  const { number, complete } = chooseGeneration(all, newest)
  return { number, exists: complete !== undefined }
}

test('the generation that serves is written, whatever else there is', () => {
  const all = [found(1), found(2, { isServing: true }), found(3)]
  expect(choice(all, known(3))).toEqual({ number: 2, exists: true })
  expect(choice(all, undefined)).toEqual({ number: 2, exists: true })
})

test('without one that serves, the newest that was written goes on: only its aliases are gone', () => {
  expect(choice([found(1), found(2), found(3)], known(2))).toEqual({ number: 2, exists: true })
})

test('a generation that was lost is followed by one of a number never seen', () => {
  expect(choice([], undefined)).toEqual({ number: 1, exists: false })
  expect(choice([], known(4))).toEqual({ number: 5, exists: false })
  expect(choice([found(4, { isComplete: false })], known(4))).toEqual({ number: 5, exists: false })
})

test('indices of the same names that are not the same are not taken for them', () => {
  expect(choice([found(4)], known(4, 'fedcba9876543210'))).toEqual({ number: 5, exists: false })
})

test('one that another process is creating is completed, not created twice', () => {
  expect(choice([found(5, { isComplete: false })], known(4))).toEqual({ number: 5, exists: false })
  expect(choice([found(5)], known(4))).toEqual({ number: 5, exists: true })
})

test('half made indices of another release are passed over', () => {
  expect(choice([found(5, { hasCurrentMappings: false })], known(4))).toEqual({ number: 6, exists: false })
})

test.each([
  ['serves', found(3, { isServing: true }), 'serving', []],
  ['was written last, without aliases', found(2), 'unread', []],
  ['has the number of the one that serves, and other indices', found(2, { isComplete: false }), 'lost', []],
  ['is newer', found(3, { isComplete: false }), 'unfinished', ['fill']],
  ['is newer, of another release', found(3, { hasCurrentMappings: false }), 'left over', ['remove']],
  ['has served before', found(1, { hasServed: true }), 'retired', ['reconcile', 'remove']],
  [
    'has served before, of another release',
    found(1, { hasServed: true, hasCurrentMappings: false }),
    'retired',
    ['reconcile', 'remove'],
  ],
  ['is older and never served', found(1), 'left over', ['remove']],
  ['is older and incomplete', found(1, { isComplete: false }), 'left over', ['remove']],
] as const)('beside generation 2, one that %s', (_, each, state, steps) => {
  expect([stateOf(each, known(2)), rebuildSteps(each, known(2))]).toEqual([state, steps])
})

test('a look tells who serves, seen from one generation', () => {
  const serving = found(1, { isServing: true })
  expect([
    readersOf([serving, found(2)], known(1)),
    readersOf([serving, found(2)], known(2)),
    readersOf([found(1), found(2)], known(2)),
    readersOf([found(1), found(2, { isComplete: false })], known(2)),
    readersOf([serving], known(1, 'fedcba9876543210')),
  ]).toEqual(['it serves', 'another serves', 'nobody serves', 'indices gone', 'indices gone'])
})
