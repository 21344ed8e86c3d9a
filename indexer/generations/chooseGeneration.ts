import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import type { FoundGeneration, Generation, GenerationId } from './generation.ts'

/**
 * Indexers create generations with odd numbers, rebuilds with even ones. So an indexer and a rebuild never create the same generation, and neither continues an
 * unfinished one of the other.
 */
const isOfRebuild = (number: number): boolean => number % 2 === 0

/** The lowest number above all `generations` that is even (for a rebuild) or odd (for an indexer). */
export function numberAbove(generations: readonly Pick<GenerationId, 'number'>[], forRebuild: boolean): number {
  const next = 1 + Math.max(0, ...generations.map(({ number }) => number))
  return isOfRebuild(next) === forRebuild ? next : next + 1
}

/**
 * The generation to which a rebuild has switched in Redis, while the read aliases still name the former generation; undefined if no switch is unfinished.
 * `servingTag`: the generation that Redis names.
 *
 * The generation of an indexer is no unfinished switch: Redis names it already while it is built. Nor is a generation below the one that the aliases name:
 * Redis has fallen back to an older state.
 */
export function findUnfinishedSwitch(
  generations: readonly FoundGeneration[],
  servingTag: GenerationTag | undefined,
): Generation | undefined {
  const switchedTo = generations.find(({ complete }) => complete !== undefined && complete.tag === servingTag)?.complete
  if (switchedTo === undefined || switchedTo.hasServed || !isOfRebuild(switchedTo.number)) return undefined
  const aliased = generations.findLast(({ complete }) => complete?.isServing)
  return aliased === undefined || aliased.number < switchedTo.number ? switchedTo : undefined
}

/**
 * Chooses the generation that an indexer writes. `complete` of the result is undefined if indices are to be created.
 * 1. The generation that serves;
 * 2. else `newest`, the newest one that commits or Redis name, if its indices exist: only its aliases were removed;
 * 3. else a newer one with mappings of this release: an unfinished one of an indexer, or one that has served;
 * 4. else a new one, with a number above every known one: commits for a lost generation never count for it.
 */
export function chooseGeneration(
  generations: readonly FoundGeneration[],
  newest: GenerationId | undefined,
): Pick<FoundGeneration, 'number' | 'complete'> {
  const newestNumber = newest?.number ?? 0
  return (
    generations.findLast(({ complete }) => complete?.isServing) ??
    generations.find(({ complete }) => newest !== undefined && complete?.tag === newest.tag) ??
    generations.findLast(
      ({ number, hasCurrentMappings, complete }) =>
        number > newestNumber && hasCurrentMappings && (!isOfRebuild(number) || complete?.hasServed),
    ) ?? {
      number: numberAbove([{ number: newestNumber }, ...generations], false),
      complete: undefined,
    }
  )
}

/** `fill`: the rebuild continues the unfinished generation of an earlier one. */
export function decideLeftOver(
  { number, complete, hasCurrentMappings }: Pick<FoundGeneration, 'number' | 'complete' | 'hasCurrentMappings'>,
  serving: GenerationId,
): 'keep' | 'fill' | 'reconcile and remove' | 'remove' {
  if (complete?.isServing === true || number === serving.number) return 'keep'
  if (number > serving.number) return hasCurrentMappings && isOfRebuild(number) ? 'fill' : 'remove'
  return complete?.hasServed === true ? 'reconcile and remove' : 'remove'
}
