import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import type { FoundGeneration, Generation, GenerationId } from './generation.ts'

/** Indexers create odd numbers, rebuilds even ones: so neither creates nor continues a generation of the other. */
const isOfRebuild = (number: number): boolean => number % 2 === 0

/** The next number: even for a rebuild, odd for an indexer. */
export function numberAbove(generations: readonly Pick<GenerationId, 'number'>[], isForRebuild: boolean): number {
  const next = 1 + Math.max(0, ...generations.map(({ number }) => number))
  return isOfRebuild(next) === isForRebuild ? next : next + 1
}

/**
 * The generation to which a rebuild has switched in Redis (`servingTag`), while the read aliases still name the former one. It is no unfinished switch if
 * - an indexer has created the generation: Redis names it already while it is built;
 * - the aliases name a higher number: Redis has fallen back to an older state.
 */
export function findUnfinishedSwitch(
  generations: readonly FoundGeneration[],
  servingTag: GenerationTag | undefined,
): Generation | undefined {
  const named = generations.find(({ complete }) => complete !== undefined && complete.tag === servingTag)?.complete
  if (named === undefined || named.hasServed || !isOfRebuild(named.number)) return undefined
  const aliased = generations.findLast(({ complete }) => complete?.isServing)
  return aliased === undefined || aliased.number < named.number ? named : undefined
}

/**
 * Chooses the generation that an indexer writes. `newest`: the newest one that commits or Redis name.
 * 1. The generation that serves;
 * 2. else `newest`, if its indices exist: only its aliases were removed;
 * 3. else one above `newest`, with mappings of this release, that has served or that an indexer has left unfinished;
 * 4. else a new one, above every known number: commits for a lost generation never count for it.
 *
 * `complete` is undefined if indices are still to be created.
 */
export function chooseGeneration(
  generations: readonly FoundGeneration[],
  newest: GenerationId | undefined,
): Pick<FoundGeneration, 'number' | 'complete'> {
  const newestNumber = newest?.number ?? 0
  const serving = generations.findLast(({ complete }) => complete?.isServing)
  const withoutAliases = generations.find(({ complete }) => newest !== undefined && complete?.tag === newest.tag)
  const above = generations.findLast(
    ({ number, hasCurrentMappings, complete }) =>
      number > newestNumber && hasCurrentMappings && (!isOfRebuild(number) || complete?.hasServed),
  )
  const created = { number: numberAbove([{ number: newestNumber }, ...generations], false), complete: undefined }
  return serving ?? withoutAliases ?? above ?? created
}

/**
 * What a rebuild does with a generation that it finds. `fill`: continues what an earlier rebuild has left unfinished. `reconcile and remove`: it served before,
 * and may have documents that the serving one lacks.
 */
export function decideLeftOver(
  { number, complete, hasCurrentMappings }: Pick<FoundGeneration, 'number' | 'complete' | 'hasCurrentMappings'>,
  serving: GenerationId,
): 'keep' | 'fill' | 'reconcile and remove' | 'remove' {
  if (complete?.isServing === true || number === serving.number) return 'keep'
  if (number > serving.number) return hasCurrentMappings && isOfRebuild(number) ? 'fill' : 'remove'
  return complete?.hasServed === true ? 'reconcile and remove' : 'remove'
}
