import type { WatermarkResult } from '../../src/core/stores/watermark.ts'
import type { FoundGeneration, Generation, KnownGeneration } from './generations.ts'

/**
 * Whose indices the read aliases point to, seen from one generation. `gone`: it lacks an index, or its indices are others of the same
 * names.
 */
type Readers = 'its own' | "another's" | 'none' | 'gone'

/** What an indexer observes of a generation before it writes it. */
export type Opening = {
  readonly hasCurrentMappings: boolean
  readonly isWritable: boolean
  /** A rebuild holds the watermark, because it is about to switch. */
  readonly isHeld: boolean
  readonly isServing: boolean
  /** It holds everything below the last watermark, as commits or Redis tell, or is the first of all. */
  readonly holdsPromised: boolean
}

/** What it observes of the one that it writes, every second, and before it publishes. */
export type Look = {
  readonly readers: Readers
  readonly isWritable: boolean
  readonly isHeld: boolean
  /** It was opened without readers, because it may lack what the watermark promised. */
  readonly isBuilding: boolean
}

/**
 * What an indexer does about the generation that it writes, or is about to write.
 * - `wait for a rebuild` of this release, which makes indices with its mappings.
 * - `wait for the switch`: the rebuild has closed the generation, and switches unless it dies.
 * - `unblock`: the rebuild has died. Restores the write aliases, removes the write block, and looks at it again.
 * - `withdraw` the watermark until everything is searchable that was appended before now. What nobody reads is read only then.
 * - `serve`: points the read aliases to it, and adopts it.
 * - `adopt`: names it in Redis as the generation whose watermarks count.
 * - `leave` it, and open the one that is to be written: this one again, or the next.
 * - `rejoin` the group, to claim its partitions anew.
 */
export type Decision =
  | 'wait for a rebuild'
  | 'wait for the switch'
  | 'unblock'
  | 'withdraw'
  | 'serve'
  | 'adopt'
  | 'leave'
  | 'rejoin'
  | 'continue'

/** When it opens a generation. */
export function decideOpening({ hasCurrentMappings, isWritable, isHeld, isServing, holdsPromised }: Opening): Decision {
  if (!hasCurrentMappings) return 'wait for a rebuild'
  if (!isWritable) return isHeld ? 'wait for the switch' : 'unblock'
  if (!holdsPromised) return 'withdraw'
  return isServing ? 'adopt' : 'serve'
}

/** Whether it still is the generation to write; else the indexer leaves it. */
export function isToBeWritten({ readers, isWritable, isHeld, isBuilding }: Look): boolean {
  // A hold that has expired is that of a rebuild that died: opening the generation again gives its writes back.
  const isClosed = !isWritable && !isHeld
  switch (readers) {
    case 'its own':
      return !isClosed
    case 'none':
      // Otherwise somebody has removed the read aliases, and opening the generation again restores them.
      return isBuilding && !isClosed
    case "another's":
    case 'gone':
      return false
  }
}

/** When Redis has answered to a round of publishing. */
export function decideRound(answer: WatermarkResult['kind'] | 'no append times', isBuilding: boolean): Decision {
  switch (answer) {
    case 'published':
    case 'withheld':
    case 'no append times':
      return isBuilding ? 'serve' : 'continue'
    case 'incomplete':
    case 'behind':
    case 'held':
      return 'continue'
    case 'forgotten':
      return 'adopt'
    case 'displaced':
      return 'rejoin'
    case 'superseded':
      return 'leave'
  }
}

/** Whose indices the read aliases point to, seen from the generation with this tag. */
export function readersOf(found: readonly FoundGeneration[], { tag }: Pick<Generation, 'tag'>): Readers {
  const own = found.find(({ complete }) => complete?.tag === tag)
  if (own === undefined) return 'gone'
  const serving = found.find(({ complete }) => complete?.isServing)
  if (serving === undefined) return 'none'
  return serving === own ? 'its own' : "another's"
}

/**
 * Indexers number the generations that they create with odd numbers, rebuilds with even ones. So a rebuild that has not noticed yet that its
 * indices were deleted never writes into others of the same names that indexers build: its times are no later than append times.
 */
const isOfRebuild = (number: number): boolean => number % 2 === 0

/** The lowest number above all of these that a rebuild, or an indexer, gives to a generation that it creates. */
export function numberAbove(numbers: readonly number[], forRebuild: boolean): number {
  const next = 1 + Math.max(0, ...numbers)
  return isOfRebuild(next) === forRebuild ? next : next + 1
}

/**
 * Chooses the generation to write: the one that serves; else the newest one that was written so far (its aliases were removed); else an
 * unfinished one of an indexer; else a new number above every known one, so that committed offsets of a lost generation never count for another.
 * `complete` is undefined while indices are missing.
 */
export function chooseGeneration(
  found: readonly FoundGeneration[],
  newest: KnownGeneration | undefined,
): { readonly number: number; readonly complete: Generation | undefined } {
  const newestNumber = newest?.number ?? 0
  return (
    found.findLast(({ complete }) => complete?.isServing) ??
    found.find(({ complete }) => newest !== undefined && complete?.tag === newest.tag) ??
    found.findLast(
      ({ number, hasCurrentMappings, complete }) =>
        number > newestNumber && hasCurrentMappings && (!isOfRebuild(number) || complete?.hasServed),
    ) ?? {
      number: numberAbove([newestNumber, ...found.map(({ number }) => number)], false),
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
