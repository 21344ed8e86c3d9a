import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import type { FoundGeneration, Generation, KnownGeneration } from './generation.ts'

/**
 * Indexers number the generations that they create with odd numbers, rebuilds with even ones. So the two never create the same one, and none
 * goes on with what the other has left unfinished.
 */
const isOfRebuild = (number: number): boolean => number % 2 === 0

/** The lowest number above all of these that a rebuild, or an indexer, gives to a generation that it creates. */
export function numberAbove(generations: readonly Pick<KnownGeneration, 'number'>[], forRebuild: boolean): number {
  const next = 1 + Math.max(0, ...generations.map(({ number }) => number))
  return isOfRebuild(next) === forRebuild ? next : next + 1
}

/**
 * The generation to which a rebuild has switched in Redis, while the read aliases still name the one before: whoever sees that moves them. `named`:
 * the generation that Redis names.
 *
 * A rebuild's generation gets into Redis only by a switch; an indexer names there also the one that it still builds. Of the generations that
 * Redis and the aliases name, the one with the higher number is right: Redis may have fallen back to an older state, and numbers are never
 * used again.
 */
export function findUnfinishedSwitch(
  found: readonly FoundGeneration[],
  named: GenerationTag | undefined,
): Generation | undefined {
  const switchedTo = found.find(({ complete }) => complete !== undefined && complete.tag === named)?.complete
  if (switchedTo === undefined || switchedTo.hasServed || !isOfRebuild(switchedTo.number)) return undefined
  const aliased = found.findLast(({ complete }) => complete?.isServing)
  return aliased === undefined || aliased.number < switchedTo.number ? switchedTo : undefined
}

/**
 * Chooses the generation to write: the one that serves; else the newest one that was written so far (its aliases were removed); else an
 * unfinished one of an indexer; else a new number above every known one, so that committed offsets of a lost generation never count for another.
 * `complete` is undefined while indices are missing.
 */
export function chooseGeneration(found: readonly FoundGeneration[], newest: KnownGeneration | undefined) {
  const newestNumber = newest?.number ?? 0
  return (
    found.findLast(({ complete }) => complete?.isServing) ??
    found.find(({ complete }) => newest !== undefined && complete?.tag === newest.tag) ??
    found.findLast(
      ({ number, hasCurrentMappings, complete }) =>
        number > newestNumber && hasCurrentMappings && (!isOfRebuild(number) || complete?.hasServed),
    ) ?? {
      number: numberAbove([{ number: newestNumber }, ...found], false),
      complete: undefined,
    }
  )
}

/** What a rebuild does with a generation that it finds when it begins, beside the one that serves. */
export function decideLeftOver(
  { number, complete, hasCurrentMappings }: Pick<FoundGeneration, 'number' | 'complete' | 'hasCurrentMappings'>,
  serving: KnownGeneration,
): 'keep' | 'fill' | 'reconcile and remove' | 'remove' {
  if (complete?.isServing === true || number === serving.number) return 'keep'
  if (number > serving.number) return hasCurrentMappings && isOfRebuild(number) ? 'fill' : 'remove'
  return complete?.hasServed === true ? 'reconcile and remove' : 'remove'
}
