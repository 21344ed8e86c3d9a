import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import type { FoundGeneration, Generation, KnownGeneration } from './generation.ts'

/**
 * Indexers create generations with odd numbers, rebuilds with even ones. So they never create the same generation, nor continue an unfinished one of the
 * other.
 */
const isOfRebuild = (number: number): boolean => number % 2 === 0

/** The number of a new generation of a rebuild, or of an indexer: the lowest of its own numbers above all of these. */
export function numberAbove(generations: readonly Pick<KnownGeneration, 'number'>[], forRebuild: boolean): number {
  const next = 1 + Math.max(0, ...generations.map(({ number }) => number))
  return isOfRebuild(next) === forRebuild ? next : next + 1
}

/**
 * The generation to which a rebuild has switched in Redis (`named`) while the read aliases still name the one before; undefined without such a switch.
 *
 * Redis names a generation of a rebuild only after a switch, but one of an indexer also while it is built. If Redis and the aliases differ, the higher
 * number is right: Redis may have fallen back to an older state, and numbers are never reused.
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
 * Chooses the generation that an indexer writes:
 * 1. the one that serves;
 * 2. the newest one that was written so far (`newest`): its aliases were removed;
 * 3. an unfinished one of an indexer, or one that has served;
 * 4. a new one. Its number is above every known one, so that commits for a lost generation never count for it.
 *
 * `complete` is undefined if indices are to be created.
 */
export function chooseGeneration(
  found: readonly FoundGeneration[],
  newest: KnownGeneration | undefined,
): Pick<FoundGeneration, 'number' | 'complete'> {
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

/** What a rebuild does, when it starts, with a generation beside the one that serves. */
export function decideLeftOver(
  { number, complete, hasCurrentMappings }: Pick<FoundGeneration, 'number' | 'complete' | 'hasCurrentMappings'>,
  serving: KnownGeneration,
): 'keep' | 'fill' | 'reconcile and remove' | 'remove' {
  if (complete?.isServing === true || number === serving.number) return 'keep'
  if (number > serving.number) return hasCurrentMappings && isOfRebuild(number) ? 'fill' : 'remove'
  return complete?.hasServed === true ? 'reconcile and remove' : 'remove'
}
