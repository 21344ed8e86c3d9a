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
  ['the serving generation', [found(1), serving(2), found(3)], known(3), 2, true],
  ['the serving generation if it has written none yet', [serving(2), found(3)], undefined, 2, true],
  ['the newest written generation if its aliases are gone', [found(1), found(2), found(3)], known(2), 2, true],
  ['generation 1 if there is none', [], undefined, 1, false],
  ['a new number after a generation was lost', [], known(4), 5, false],
  ['a new number after a generation has lost an index', [incomplete(4)], known(4), 5, false],
  ['a new number if other indices have its names', [found(4)], known(4, 'fedcba9876543210'), 5, false],
  ['a generation that another process is creating', [incomplete(5)], known(4), 5, false],
  ['a generation that another process has created', [found(5)], known(4), 5, true],
  ['no generation of another release', [ofAnotherRelease(5)], known(4), 7, false],
  ['no generation that a rebuild may still fill', [found(6)], known(4), 7, false],
  ['a generation of a rebuild that has served', [found(6, { hasServed: true })], known(4), 6, true],
  ['no number that a rebuild may use', [], known(5), 7, false],
] as const)('an indexer chooses %s', (_, all, newest, number, exists) => {
  const chosen = chooseGeneration(all, newest)
  expect([chosen.number, chosen.complete !== undefined]).toEqual([number, exists])
})

test.each([
  ['to the generation of a rebuild', [serving(1), found(2)], tagOf(2), 2],
  ['to the generation of a rebuild if the aliases are gone', [found(1, { hasServed: true }), found(2)], tagOf(2), 2],
  ['to none while Redis knows none', [serving(1), found(2)], undefined, undefined],
  ['to no generation of a rebuild that has not switched', [serving(1), found(2)], tagOf(1), undefined],
  [
    'to no generation for which Redis names other indices',
    [serving(1), found(2)],
    tagOf(2, 'fedcba9876543210'),
    undefined,
  ],
  ['to no generation that has lost an index', [serving(1), incomplete(2)], tagOf(2), undefined],
  ['to no generation that has served already', [found(2, { hasServed: true }), serving(4)], tagOf(2), undefined],
  ['to no generation below the serving one', [found(2), serving(4)], tagOf(2), undefined],
  ['to no generation that indexers still build', [found(1, { hasServed: true }), found(3)], tagOf(3), undefined],
] as const)('an indexer completes the switch %s', (_, all, named, number) => {
  expect(findUnfinishedSwitch(all, named)?.number).toBe(number)
})

test.each([
  ['serves', serving(3), 'keep'],
  ['served when the rebuild read the aliases', found(2), 'keep'],
  ['has the number of the serving one, but other indices', incomplete(2), 'keep'],
  ['is newer', incomplete(4), 'fill'],
  ['is newer, and of indexers, not of a rebuild', incomplete(3), 'remove'],
  ['is newer, of another release', ofAnotherRelease(4), 'remove'],
  ['has served before', found(1, { hasServed: true }), 'reconcile and remove'],
  ['has served, of another release', found(1, { hasServed: true, hasCurrentMappings: false }), 'reconcile and remove'],
  ['is older and never served', found(1), 'remove'],
  ['is older and incomplete', incomplete(1), 'remove'],
] as const)('a rebuild beside generation 2 decides about a generation that %s', (_, each, decision) => {
  expect(decideLeftOver(each, known(2))).toBe(decision)
})
