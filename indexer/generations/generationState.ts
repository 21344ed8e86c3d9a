/** The states of a generation, as one process knows it. */
export const states = {
  unfinished: 'has never served; an indexer or a rebuild may fill it',
  unread: 'was written last; nobody reads it, because its read aliases are gone',
  building: 'is filled by indexers; it may lack what the watermark promised, so nobody reads it',
  serving: 'is read and written',
  held: 'is read and written; a rebuild holds the watermark',
  closed: 'is read; a rebuild that holds the watermark has blocked writes',
  retired: 'has served, until another one did',
  'left over': 'is of no use: it never served and a later one does, or its mappings are of another release',
  lost: 'its indices were deleted, or are others of the same names',
} as const

/** What a process asks before it writes a generation, or builds another one beside it. */
const openings = {
  'mappings of another release': 'its indices have mappings of another release',
  'holds the promised': 'it holds everything below the last watermark, or is the first of all',
  'may lack the promised': 'no commit, watermark or rebuild tells that it holds everything below the last watermark',
  'a rebuild begins': 'a rebuild finds it',
} as const

/** What a look at Elasticsearch shows, and whether Redis has a hold. An indexer looks every second, and before it publishes. */
const looks = {
  'it serves': 'the read aliases point to all of its indices, and to no others',
  'nobody serves': 'the read aliases point to no generation',
  'another serves': 'the read aliases point to another generation',
  'indices gone': 'an index is missing, or was replaced',
  writable: 'its write aliases exist, and no index has a write block',
  'closed under a hold': 'writes are blocked, and a rebuild holds the watermark',
  'closed without a hold': 'writes are blocked, and the hold of the rebuild has expired',
} as const

/** What Redis answers to a round of publishing (`WatermarkResult`). */
const rounds = {
  published: 'the watermark was published',
  incomplete: 'a partition has no watermark yet',
  behind: 'it does not hold yet what the watermark promised',
  held: 'a rebuild holds the watermark',
  displaced: 'another indexer has claimed a partition',
  withheld: 'a deletion may have been missed, so that no watermark is promised of it',
  superseded: 'the watermark belongs to another generation',
  forgotten: 'Redis knows no generation',
  'no append times': 'brokers stamp no append times, so there is no watermark',
} as const

/** Everything that a process observes of a generation. */
export const events = { ...openings, ...looks, ...rounds } as const

/** What a process does about it. */
export const steps = {
  open: 'lets it go, and opens the generation to write: this one again, or the next',
  unblock: 'restores the write aliases and removes the write block',
  serve: 'points the read aliases to it',
  adopt: 'names it in Redis as the generation whose watermarks count',
  withdraw: 'withdraws the watermark until everything is searchable that was appended before now',
  'wait for the switch': 'waits until the rebuild has switched or its hold has expired',
  'wait for a rebuild': 'waits for a rebuild of this release',
  rejoin: 'joins the group again, to claim its partitions anew',
  fill: 'the rebuild goes on with it',
  reconcile: 'the rebuild copies what only this one still has',
  remove: 'the rebuild deletes its indices',
} as const

export type GenerationState = keyof typeof states
export type GenerationEvent = keyof typeof events
export type Step = keyof typeof steps

/** The state in which a generation is once the steps are done. */
export type Transition = { readonly to: GenerationState; readonly steps: readonly Step[] }

type Row<Event extends GenerationEvent> = Readonly<Record<Event, Transition | Impossible>>
type Impossible = { readonly never: string }

const go = (to: GenerationState, ...taken: readonly Step[]): Transition => ({ to, steps: taken })

/** The same for every event of a group. */
const every = <Event extends GenerationEvent>(
  group: Record<Event, string>,
  each: Transition | Impossible,
): Row<Event> => Object.fromEntries(Object.keys(group).map((event) => [event, each])) as Row<Event>

const openedAlready = every(openings, {
  never: 'an indexer asks this before it writes; a rebuild takes what it finds for serving',
})
const neverChosen = every(openings, { never: 'no indexer chooses it' })
const notPublished = every(rounds, { never: 'only what is written is published' })
const notWatched = every(looks, { never: 'no indexer writes it' })
const notLookedAt = { never: 'an indexer that opens it knows who serves' }

/** Of what nobody reads. After a hold has expired, or without one, its writes are given back at once. */
const openedUnread = (state: 'unfinished' | 'unread') =>
  ({
    'holds the promised': go('serving', 'serve', 'adopt'),
    'may lack the promised': go('building', 'withdraw'),
    ...notPublished,
    'it serves': notLookedAt,
    'nobody serves': notLookedAt,
    'another serves': notLookedAt,
    'indices gone': notLookedAt,
    writable: go(state),
    'closed under a hold': go(state, 'wait for the switch'),
    'closed without a hold': go(state, 'unblock'),
  }) satisfies Partial<Row<GenerationEvent>>

/**
 * What happens to a generation in each state, by event. An indexer that lets a generation go leaves the steps after `open` to the opening
 * that follows.
 */
export const transitions: Readonly<Record<GenerationState, Row<GenerationEvent>>> = {
  unfinished: {
    ...openedUnread('unfinished'),
    'mappings of another release': { never: 'it would be left over' },
    'a rebuild begins': go('unfinished', 'fill'),
  },
  unread: {
    ...openedUnread('unread'),
    'mappings of another release': go('unread', 'wait for a rebuild'),
    'a rebuild begins': go('unread'),
  },
  building: {
    ...openedAlready,
    'it serves': go('serving'),
    'nobody serves': go('building'),
    'another serves': go('retired', 'open'),
    'indices gone': go('lost', 'open'),
    writable: go('building'),
    'closed under a hold': go('building', 'wait for the switch'),
    'closed without a hold': go('building', 'open', 'unblock'),
    published: go('serving', 'serve'),
    incomplete: go('building'),
    behind: go('building'),
    held: go('building'),
    displaced: go('building', 'rejoin'),
    withheld: go('serving', 'serve'),
    superseded: go('building', 'open'),
    forgotten: go('building', 'adopt'),
    'no append times': go('serving', 'serve'),
  },
  serving: {
    'mappings of another release': go('serving', 'wait for a rebuild'),
    'holds the promised': go('serving', 'adopt'),
    'may lack the promised': go('serving', 'withdraw'),
    'a rebuild begins': go('serving'),
    'it serves': go('serving'),
    'nobody serves': go('serving', 'open', 'serve'),
    'another serves': go('retired', 'open'),
    'indices gone': go('lost', 'open'),
    writable: go('serving'),
    'closed under a hold': go('closed', 'wait for the switch'),
    'closed without a hold': go('serving', 'open', 'unblock'),
    published: go('serving'),
    incomplete: go('serving'),
    behind: go('serving'),
    held: go('held'),
    displaced: go('serving', 'rejoin'),
    withheld: go('serving'),
    superseded: go('serving', 'open'),
    forgotten: go('serving', 'adopt'),
    'no append times': go('serving'),
  },
  held: {
    ...openedAlready,
    'it serves': go('held'),
    'nobody serves': go('serving', 'open', 'serve'),
    'another serves': go('retired', 'open'),
    'indices gone': go('lost', 'open'),
    writable: go('held'),
    'closed under a hold': go('closed', 'wait for the switch'),
    'closed without a hold': go('serving', 'open', 'unblock'),
    published: go('serving'),
    incomplete: go('serving'),
    behind: go('serving'),
    held: go('held'),
    displaced: go('serving', 'rejoin'),
    withheld: go('serving'),
    superseded: go('serving', 'open'),
    forgotten: go('serving', 'adopt'),
    'no append times': { never: 'nothing is published then, so no hold is met' },
  },
  closed: {
    ...openedAlready,
    'it serves': go('closed'),
    'nobody serves': go('serving', 'open', 'serve'),
    'another serves': go('retired', 'open'),
    'indices gone': go('lost', 'open'),
    writable: go('serving'),
    'closed under a hold': go('closed', 'wait for the switch'),
    'closed without a hold': go('serving', 'open', 'unblock'),
    // The hold may expire between the look and the publication. Nothing was written since, so the watermark is true.
    published: go('closed'),
    incomplete: go('closed'),
    behind: go('closed'),
    held: go('closed'),
    displaced: go('closed', 'rejoin'),
    withheld: go('closed'),
    superseded: go('closed', 'open'),
    forgotten: go('closed', 'adopt'),
    'no append times': go('closed'),
  },
  retired: {
    ...neverChosen,
    'a rebuild begins': go('lost', 'reconcile', 'remove'),
    ...every(looks, go('retired', 'open')),
    ...every(rounds, go('retired', 'open')),
  },
  'left over': {
    ...neverChosen,
    // Indexers of two releases may create it at the same time.
    'mappings of another release': go('left over', 'wait for a rebuild'),
    'a rebuild begins': go('lost', 'remove'),
    ...notWatched,
    ...notPublished,
  },
  lost: {
    ...neverChosen,
    'a rebuild begins': go('lost'),
    ...every(looks, go('lost', 'open')),
    ...every(rounds, go('lost', 'open')),
  },
}

/** What follows from an event. Throws where the table says that it cannot happen. */
export function next(state: GenerationState, event: GenerationEvent): Transition {
  const transition = transitions[state][event]
  if ('never' in transition)
    throw new Error(`a generation that is ${state} has met "${event}", which cannot be: ${transition.never}`)
  return transition
}
