import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import { findUnfinishedSwitch } from './chooseGeneration.ts'
import type { FoundGeneration } from './generation.ts'
import { AliasesMoved, type Generations } from './generations.ts'

/**
 * If a rebuild has switched in Redis and not moved the aliases yet, moves them. Another process may move them at the same time. `servingTag`: the generation
 * that Redis named before this call. Resolves with all generations.
 */
export async function finishSwitch(
  generations: Generations,
  servingTag: GenerationTag | undefined,
): Promise<readonly FoundGeneration[]> {
  const found = await generations.find()
  const switched = findUnfinishedSwitch(found, servingTag)
  if (switched === undefined) return found
  await generations.serve(switched, true).catch((error: unknown) => {
    if (!(error instanceof AliasesMoved)) throw error
  })
  return await generations.find()
}
