import fc from 'fast-check'
import {
  events,
  type GenerationEvent,
  type GenerationState,
  next,
  type Step,
  states,
  transitions,
} from '../../../../indexer/generations/generationState.ts'

const everyState = Object.keys(states) as GenerationState[]
const everyEvent = Object.keys(events) as GenerationEvent[]
const written: readonly GenerationState[] = ['building', 'serving', 'held', 'closed']
/** What Elasticsearch shows of a generation that nobody has opened yet. */
const found: readonly GenerationState[] = ['unfinished', 'unread', 'serving', 'retired', 'left over', 'lost']
const writing: readonly Step[] = ['unblock', 'serve', 'adopt', 'withdraw', 'fill']

const canHappen = (state: GenerationState, event: GenerationEvent): boolean => 'to' in transitions[state][event]

type Passage = { from: GenerationState; event: GenerationEvent; to: GenerationState; steps: readonly Step[] }

/** What a generation goes through from `state` on; an event that cannot happen in a state does not. */
function passages(state: GenerationState, sequence: readonly GenerationEvent[]): Passage[] {
  const passed: Passage[] = []
  let from = state
  for (const event of sequence) {
    if (!canHappen(from, event)) continue
    const { to, steps } = next(from, event)
    passed.push({ from, event, to, steps })
    from = to
  }
  return passed
}

const histories = fc.tuple(
  fc.constantFrom(...found),
  fc.array(fc.constantFrom(...everyEvent), { minLength: 1, maxLength: 60 }),
)

/** Runs a property over random histories. */
const always = (holds: (passed: readonly Passage[], from: GenerationState) => void): void =>
  fc.assert(
    fc.property(histories, ([from, sequence]) => holds(passages(from, sequence), from)),
    { numRuns: 3_000 },
  )

test('every state is found in Elasticsearch or reached from one that is', () => {
  const reached = new Set(found)
  for (const from of reached)
    for (const event of everyEvent) if (canHappen(from, event)) reached.add(next(from, event).to)
  expect(reached).toEqual(new Set(everyState))
})

test('a retired or lost generation is never written again, whatever happens', () => {
  always((passed) => {
    const end = passed.findIndex(({ to }) => to === 'retired' || to === 'lost')
    if (end === -1) return
    for (const { to, steps } of passed.slice(end + 1)) {
      expect(written).not.toContain(to)
      expect(steps.filter((step) => writing.includes(step))).toEqual([])
    }
  })
})

test('an indexer leaves a retired or lost generation at whatever it sees next', () => {
  for (const state of ['retired', 'lost'] as const)
    for (const event of everyEvent.filter((each) => canHappen('closed', each)))
      expect(next(state, event)).toEqual({ to: state, steps: ['open'] })
})

test('a watermark is published of nothing but what is read, or is read from then on', () => {
  always((passed) => {
    for (const { from, event, to, steps } of passed) {
      if (event !== 'published' || steps.includes('open')) continue
      expect(written).toContain(from)
      expect(['serving', 'closed']).toContain(to)
    }
  })
})

test('what may lack something is not served before a watermark says that it has caught up, or there is no watermark', () => {
  always((passed) => {
    for (const { from, event, to, steps } of passed) {
      if (from !== 'building' || to !== 'serving') continue
      expect(['published', 'withheld', 'no append times', 'it serves']).toContain(event)
      if (event !== 'it serves') expect(steps).toEqual(['serve'])
    }
  })
})

test('whoever begins to write a generation names it in Redis, and withdraws the watermark if it may lack something', () => {
  const openings = (['unfinished', 'unread', 'serving'] as const).map((state) => [
    next(state, 'holds the promised'),
    next(state, 'may lack the promised'),
  ])
  for (const [holding, lacking] of openings) {
    expect([holding?.to, holding?.steps.at(-1)]).toEqual(['serving', 'adopt'])
    expect([written.includes(lacking?.to ?? 'lost'), lacking?.steps]).toEqual([true, ['withdraw']])
  }
})

test('writes that a rebuild has blocked are given back once its hold has expired, and not before', () => {
  for (const state of everyState.filter((each) => canHappen(each, 'closed under a hold'))) {
    const isOver = state === 'retired' || state === 'lost'
    expect(next(state, 'closed without a hold').steps.includes('unblock')).toBe(!isOver)
    expect(next(state, 'closed under a hold').steps).toEqual(isOver ? ['open'] : ['wait for the switch'])
  }
})

test('read aliases that were removed are restored', () => {
  for (const state of ['serving', 'held', 'closed'] as const)
    expect(next(state, 'nobody serves').steps).toEqual(['open', 'serve'])
  expect(next('unread', 'holds the promised').steps).toContain('serve')
})

test('whatever has happened, what is read, writable and published serves', () => {
  always((passed) => {
    const state = passed.at(-1)?.to ?? 'lost'
    if (!written.includes(state)) return
    expect(passages(state, ['it serves', 'writable', 'published']).at(-1)?.to).toBe('serving')
  })
})

test.each(written)('a generation that is %s is left once it is not the one to write', (state) => {
  expect(next(state, 'another serves')).toEqual({ to: 'retired', steps: ['open'] })
  expect(next(state, 'indices gone')).toEqual({ to: 'lost', steps: ['open'] })
  expect(next(state, 'superseded').steps).toEqual(['open'])
})

test.each(written)(
  'for a generation that is %s, Redis is told again what it forgot, and a lost partition is claimed anew',
  (state) => {
    expect(next(state, 'forgotten').steps).toEqual(['adopt'])
    expect(next(state, 'displaced').steps).toEqual(['rejoin'])
  },
)

test('what cannot happen ends in an error that tells why', () => {
  const impossible = everyState.flatMap((state) =>
    everyEvent.filter((event) => !canHappen(state, event)).map((event) => [state, event] as const),
  )
  expect(impossible.length).toBeGreaterThan(10)
  for (const [state, event] of impossible) expect(() => next(state, event)).toThrow(/which cannot be: \w+ /)
})
