import type { GenerationTag, Indices } from '../../src/core/elasticsearch/indices.ts'
import type { CursorKey, PublishedRound } from '../../src/core/redis/visiblePositions.ts'

/** A round of publishing of a generation with one partition of each topic; `changes` replace its members. */
export const visibleRound = (changes: Partial<PublishedRound>): PublishedRound => ({
  generation: '1-0123456789abcdef' as GenerationTag,
  indices: {
    forms: 'forms-1',
    'form-details': 'form-details-1',
    submissions: 'submissions-1',
    'submission-details': 'submission-details-1',
  } as unknown as Indices,
  cursorKeys: { forms: 'key of forms' as CursorKey, submissions: 'key of submissions' as CursorKey },
  partitionCounts: { forms: 1, submissions: 1 },
  lists: [],
  changesEveryList: false,
  partitions: [],
  mayLackDeletions: false,
  ...changes,
})
