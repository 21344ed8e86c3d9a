import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import { findUnfinishedSwitch } from './chooseGeneration.ts'
import type { FoundGeneration } from './generation.ts'
import { AliasesMoved, type Generations } from './generations.ts'

/**
 * Completes a switch whose rebuild has not moved the aliases yet: points them to the generation that Redis names. Another process may do so at the same
 * moment. `named`: the generation that Redis named before this call. Resolves with the generations after that.
 */
export async function finishSwitch(
  generations: Generations,
  named: GenerationTag | undefined,
): Promise<readonly FoundGeneration[]> {
  const found = await generations.find()
  const switched = findUnfinishedSwitch(found, named)
  if (switched === undefined) return found
  await generations.serve(switched, true).catch((error: unknown) => {
    if (!(error instanceof AliasesMoved)) throw error
  })
  return await generations.find()
}
