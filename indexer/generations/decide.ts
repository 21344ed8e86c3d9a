import type { WatermarkResult } from '../../src/core/stores/watermark.ts'
import type { FoundGeneration, Generation, KnownGeneration } from './generations.ts'

/**
 * Whose indices the read aliases point to, seen from one generation. `gone`: it lacks an index, or its indices are others of the same
 * names.
 */
type Readers = 'its own' | "another's" | 'none' | 'gone'

/** What an indexer has observed of the generation that it writes, or is about to write. */
export type Observed =
  /** Before it writes. */
  | {
      readonly at: 'opening'
      readonly hasCurrentMappings: boolean
      readonly isWritable: boolean
      /** A rebuild holds the watermark, because it is about to switch. */
      readonly isHeld: boolean
      readonly isServing: boolean
      /** It holds everything below the last watermark, as commits or Redis tell, or is the first of all. */
      readonly holdsPromised: boolean
    }
  /** Every second, and before it publishes. */
  | {
      readonly at: 'look'
      readonly readers: Readers
      readonly isWritable: boolean
      readonly isHeld: boolean
      /** It was opened without readers, because it may lack what the watermark promised. */
      readonly isBuilding: boolean
    }
  /** What Redis answers to a round of publishing. */
  | {
      readonly at: 'round'
      readonly answer: WatermarkResult['kind'] | 'no append times'
      readonly isBuilding: boolean
    }

/**
 * What the indexer does.
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

/** What an indexer does about the generation that it writes, or is about to write. */
export function decide(observed: Observed): Decision {
  switch (observed.at) {
    case 'opening':
      return decideOpening(observed)
    case 'look':
      return isToBeWritten(observed) ? 'continue' : 'leave'
    case 'round':
      return decideRound(observed)
  }
}

function decideOpening(observed: Extract<Observed, { at: 'opening' }>): Decision {
  const { hasCurrentMappings, isWritable, isHeld, isServing, holdsPromised } = observed
  if (!hasCurrentMappings) return 'wait for a rebuild'
  if (!isWritable) return isHeld ? 'wait for the switch' : 'unblock'
  if (!holdsPromised) return 'withdraw'
  return isServing ? 'adopt' : 'serve'
}

function isToBeWritten({ readers, isWritable, isHeld, isBuilding }: Extract<Observed, { at: 'look' }>): boolean {
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

function decideRound({ answer, isBuilding }: Extract<Observed, { at: 'round' }>): Decision {
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
 * Chooses the generation to write: the one that serves; else the newest one that was written so far (its aliases were removed); else an
 * unfinished one; else a new number above every known one, so that committed offsets of a lost generation never count for another.
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
    found.findLast((each) => each.number > newestNumber && each.hasCurrentMappings) ?? {
      number: 1 + Math.max(newestNumber, ...found.map(({ number }) => number)),
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
  if (number > serving.number) return hasCurrentMappings ? 'fill' : 'remove'
  return complete?.hasServed === true ? 'reconcile and remove' : 'remove'
}
