import { type GenerationEvent, next, type Step } from './generationState.ts'
import type { FoundGeneration, Generation, KnownGeneration } from './generations.ts'

/** The states that Elasticsearch shows; the others are known only to who writes the generation. */
type FoundState = 'serving' | 'unread' | 'unfinished' | 'retired' | 'left over' | 'lost'

/** The state of a generation beside the one that serves, or else the newest that was written (`current`; undefined: none ever was). */
export function stateOf(
  { number, complete, hasCurrentMappings }: Pick<FoundGeneration, 'number' | 'complete' | 'hasCurrentMappings'>,
  current: KnownGeneration | undefined,
): FoundState {
  if (complete?.isServing === true) return 'serving'
  if (number === current?.number) return complete?.tag === current.tag ? 'unread' : 'lost'
  if (number > (current?.number ?? 0)) return hasCurrentMappings ? 'unfinished' : 'left over'
  return complete?.hasServed === true ? 'retired' : 'left over'
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
  const lastOf = (state: FoundState): FoundGeneration | undefined =>
    found.findLast((each) => stateOf(each, newest) === state)
  return (
    lastOf('serving') ??
    lastOf('unread') ??
    lastOf('unfinished') ?? {
      number: 1 + Math.max(0, newest?.number ?? 0, ...found.map(({ number }) => number)),
      complete: undefined,
    }
  )
}

/** Who serves, seen from one generation. */
export function readersOf(found: readonly FoundGeneration[], { tag }: Pick<Generation, 'tag'>): GenerationEvent {
  const own = found.find(({ complete }) => complete?.tag === tag)
  if (own === undefined) return 'indices gone'
  const serving = found.find(({ complete }) => complete?.isServing)
  if (serving === undefined) return 'nobody serves'
  return serving === own ? 'it serves' : 'another serves'
}

/** What a rebuild that begins does with a generation that it finds. */
export const rebuildSteps = (found: FoundGeneration, serving: KnownGeneration): readonly Step[] =>
  next(stateOf(found, serving), 'a rebuild begins').steps
