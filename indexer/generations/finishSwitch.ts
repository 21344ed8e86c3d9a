import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import { findUnfinishedSwitch } from './chooseGeneration.ts'
import type { FoundGeneration } from './generation.ts'
import { AliasesMoved, type Generations } from './generations.ts'

/**
 * Moves the aliases, if a rebuild was killed after Redis named its generation (`servingTag`). Several processes may do so at once.
 *
 * `servingTag` is to be read before this call: if a rebuild switches between the two, its aliases are left to it.
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
