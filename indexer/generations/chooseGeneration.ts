import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import type { FoundGeneration, Generation, GenerationId } from './generation.ts'

/**
 * Indexers create generations with odd numbers, rebuilds with even ones. So an indexer and a rebuild never create the same generation, and neither continues an
 * unfinished one of the other.
 */
const isOfRebuild = (number: number): boolean => number % 2 === 0

/** The lowest number above those of all `generations` that is even (for a rebuild) or odd (for an indexer). */
export function numberAbove(generations: readonly Pick<GenerationId, 'number'>[], isForRebuild: boolean): number {
  const next = 1 + Math.max(0, ...generations.map(({ number }) => number))
  return isOfRebuild(next) === isForRebuild ? next : next + 1
}

/**
 * The generation to which a rebuild has switched in Redis, while the read aliases still name the former generation; undefined if no switch is unfinished.
 * `servingTag`: the generation that Redis names. It is no unfinished switch if
 * - an indexer has created the generation: Redis names it already while it is built;
 * - the aliases name a generation with a higher number: Redis has fallen back to an older state.
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
 * Chooses the generation that an indexer writes. `newest`: the newest generation that commits or Redis name; undefined if they name none.
 * 1. The generation that serves;
 * 2. else `newest`, if its indices exist: only its aliases were removed;
 * 3. else a generation above `newest`, with mappings of this release, that has served or that an indexer has left unfinished;
 * 4. else a new one, with a number above every known one: commits for a lost generation never count for it.
 *
 * `complete` of the result is undefined if indices are still to be created: some in case 3, all in case 4.
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
 * What a rebuild does with a generation that it finds at its start:
 * - `keep`: it serves;
 * - `fill`: an earlier rebuild has left it unfinished, and this one continues it;
 * - `reconcile and remove`: it served before. Documents that only it has are copied to the serving generation first;
 * - `remove`: any other.
 */
export function decideLeftOver(
  { number, complete, hasCurrentMappings }: Pick<FoundGeneration, 'number' | 'complete' | 'hasCurrentMappings'>,
  serving: GenerationId,
): 'keep' | 'fill' | 'reconcile and remove' | 'remove' {
  if (complete?.isServing === true || number === serving.number) return 'keep'
  if (number > serving.number) return hasCurrentMappings && isOfRebuild(number) ? 'fill' : 'remove'
  return complete?.hasServed === true ? 'reconcile and remove' : 'remove'
}
