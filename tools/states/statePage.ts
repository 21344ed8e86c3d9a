import {
  events,
  type GenerationEvent,
  type GenerationState,
  states,
  steps,
  type Transition,
  transitions,
} from '../../indexer/generations/generationState.ts'

const begin = '<!-- From here on, `npm run states` writes this page. -->'
const everyState = Object.keys(states) as GenerationState[]
const everyEvent = Object.keys(events) as GenerationEvent[]

/** The page, with everything below its marker written from `indexer/generations/generationState.ts`. Throws without a marker. */
export function withTables(page: string): string {
  const [introduction, ...below] = page.split(begin)
  if (below.length !== 1) throw new Error(`the page has not one line ${begin}`)
  const sections = [
    begin,
    '## States',
    table(['state', 'a generation'], described(states)),
    diagram(),
    '## Events',
    table(['event', 'observed'], described(events)),
    '## Steps',
    table(['step', 'a process'], described(steps)),
    '## Transitions',
    'The new state and the steps; ·: nothing changes; —: cannot be.',
    table(['', ...everyState], everyEvent.map(rowOf)),
    '## What cannot be',
    table(['because', 'states', 'events'], impossible()),
  ]
  return `${introduction}${sections.join('\n\n')}\n`
}

const described = (each: Readonly<Record<string, string>>): string[][] =>
  Object.entries(each).map(([name, description]) => [`**${name}**`, description])

/** Every change of state, with the events that lead to it. */
function diagram(): string {
  const id = (state: string): string => state.replaceAll(' ', '_')
  const lines = everyState.flatMap((from) =>
    everyState.flatMap((to) => {
      const leading = everyEvent.filter((event) => from !== to && resultOf(from, event)?.to === to)
      return leading.length === 0 ? [] : [`  ${id(from)} --> ${id(to)}: ${leading.join(', ')}`]
    }),
  )
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n')
}

function rowOf(event: GenerationEvent): string[] {
  const cells = everyState.map((state) => {
    const result = resultOf(state, event)
    if (result === undefined) return '—'
    const changed = result.to === state ? [] : [`→ **${result.to}**`]
    return [...changed, ...result.steps].join(', ') || '·'
  })
  return [`**${event}**`, ...cells]
}

/** The cells of the table that cannot be, one row for each reason. */
function impossible(): string[][] {
  const cells = everyState.flatMap((state) =>
    everyEvent.flatMap((event) => {
      const transition = transitions[state][event]
      return 'never' in transition ? [{ state, event, reason: transition.never }] : []
    }),
  )
  return [...Map.groupBy(cells, ({ reason }) => reason)].map(([reason, those]) => [
    reason,
    [...new Set(those.map(({ state }) => state))].join(', '),
    [...new Set(those.map(({ event }) => event))].join(', '),
  ])
}

function resultOf(state: GenerationState, event: GenerationEvent): Transition | undefined {
  const transition = transitions[state][event]
  return 'never' in transition ? undefined : transition
}

const table = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
