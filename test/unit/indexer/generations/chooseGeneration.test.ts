import {
  chooseGeneration,
  decideLeftOver,
  findUnfinishedSwitch,
} from '../../../../indexer/generations/chooseGeneration.ts'
import type { FoundGeneration } from '../../../../indexer/generations/generation.ts'
import type { GenerationTag } from '../../../../src/core/elasticsearch/indices.ts'

const tagOf = (number: number, fingerprint = '0123456789abcdef'): GenerationTag =>
  `${number}-${fingerprint}` as GenerationTag
const known = (number: number, fingerprint?: string) => ({ number, tag: tagOf(number, fingerprint) })

function found(
  number: number,
  state: { isServing?: boolean; hasServed?: boolean; hasCurrentMappings?: boolean; isComplete?: boolean } = {},
): FoundGeneration {
  const { isServing = false, hasServed = isServing, hasCurrentMappings = true, isComplete = true } = state
  const complete = {
    ...{
      number,
      tag: tagOf(number),
      indices: {} as never,
      writeAliases: {} as never,
      cursorKeys: {} as never,
      hasCarriedOver: { forms: false, submissions: false },
      shards: 5,
      createdAtMs: 0,
      hasWriteAliases: true,
    },
    ...{ isServing, hasServed, hasCurrentMappings, foreignSettings: [] },
  }
  return { number, indices: [], hasCurrentMappings, complete: isComplete ? complete : undefined }
}
const incomplete = (number: number): FoundGeneration => found(number, { isComplete: false })
const serving = (number: number): FoundGeneration => found(number, { isServing: true })
const ofAnotherRelease = (number: number): FoundGeneration => found(number, { hasCurrentMappings: false })

test.each([
  ['the one that serves', [found(1), serving(2), found(3)], known(3), 2, true],
  ['the one that serves, where none was written yet', [serving(2), found(3)], undefined, 2, true],
  ['the newest that was written, where its aliases are gone', [found(1), found(2), found(3)], known(2), 2, true],
  ['the first of all', [], undefined, 1, false],
  ['a number never seen, where one was lost', [], known(4), 5, false],
  ['a number never seen, where one has lost an index', [incomplete(4)], known(4), 5, false],
  ['a number never seen, where others have its names', [found(4)], known(4, 'fedcba9876543210'), 5, false],
  ['one that another process is creating', [incomplete(5)], known(4), 5, false],
  ['one that another process has created', [found(5)], known(4), 5, true],
  ['none of another release', [ofAnotherRelease(5)], known(4), 7, false],
  ['none that a rebuild may still fill', [found(6)], known(4), 7, false],
  ['one of a rebuild that has served', [found(6, { hasServed: true })], known(4), 6, true],
  ['no number that a rebuild may give', [], known(5), 7, false],
] as const)('an indexer chooses %s', (_, all, newest, number, exists) => {
  const chosen = chooseGeneration(all, newest)
  expect([chosen.number, chosen.complete !== undefined]).toEqual([number, exists])
})

test.each([
  ['the one of a rebuild', [serving(1), found(2)], tagOf(2), 2],
  ['the one of a rebuild, where the aliases are gone', [found(1, { hasServed: true }), found(2)], tagOf(2), 2],
  ['none while Redis knows none', [serving(1), found(2)], undefined, undefined],
  ['none of a rebuild that has not switched', [serving(1), found(2)], tagOf(1), undefined],
  ['none of which Redis names other indices', [serving(1), found(2)], tagOf(2, 'fedcba9876543210'), undefined],
  ['none that has lost an index', [serving(1), incomplete(2)], tagOf(2), undefined],
  ['none that has served already', [found(2, { hasServed: true }), serving(4)], tagOf(2), undefined],
  ['none below the one that serves', [found(2), serving(4)], tagOf(2), undefined],
  ['none that indexers still build', [found(1, { hasServed: true }), found(3)], tagOf(3), undefined],
] as const)('the unfinished switch that is found: %s', (_, all, named, number) => {
  expect(findUnfinishedSwitch(all, named)?.number).toBe(number)
})

test.each([
  ['serves', serving(3), 'keep'],
  ['is the one that served when it looked', found(2), 'keep'],
  ['has the number of the one that serves, and other indices', incomplete(2), 'keep'],
  ['is newer', incomplete(4), 'fill'],
  ['is newer, and of indexers', incomplete(3), 'remove'],
  ['is newer, of another release', ofAnotherRelease(4), 'remove'],
  ['has served before', found(1, { hasServed: true }), 'reconcile and remove'],
  ['has served, of another release', found(1, { hasServed: true, hasCurrentMappings: false }), 'reconcile and remove'],
  ['is older and never served', found(1), 'remove'],
  ['is older and incomplete', incomplete(1), 'remove'],
] as const)('a rebuild finds beside generation 2 one that %s', (_, each, decision) => {
  expect(decideLeftOver(each, known(2))).toBe(decision)
})
