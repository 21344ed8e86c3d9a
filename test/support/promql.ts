import type { SyntaxNode } from '@lezer/common'
import { parser } from '@prometheus-io/lezer-promql'
import { registeredMetrics } from './metrics.ts'

/** Metrics of an expression, with the labels that select them, and the labels of its grouping. `joined`: only compared, by `and on (…)`. */
type Uses = {
  readonly metrics: ReadonlyMap<string, readonly string[]>
  readonly groupings: readonly string[]
  readonly joined: ReadonlySet<string>
}

/** Labels that Prometheus adds to every series. */
const targetLabels = ['job', 'instance']

/** The metrics and labels that an expression uses; throws for invalid PromQL. */
function usesOf(expression: string): Uses {
  const metrics = new Map<string, string[]>()
  const groupings: string[] = []
  const joined = new Set<string>()
  let selected = ''
  parser.parse(expression).iterate({
    enter: ({ type, from, to, node }) => {
      if (type.isError) throw new Error(`${expression} is wrong at ${from}`)
      const text = expression.slice(from, to)
      if (type.name === 'Identifier' && node.parent?.name === 'VectorSelector') {
        selected = text
        metrics.set(text, metrics.get(text) ?? [])
        if (isJoined(node)) joined.add(text)
      }
      if (type.name !== 'LabelName') return
      if (node.parent?.name === 'GroupingLabels') groupings.push(text)
      else metrics.get(selected)?.push(text)
    },
  })
  return { metrics, groupings, joined }
}

/** Whether a part of an expression is the right side of an `on (…)`. */
function isJoined({ from, parent }: SyntaxNode): boolean {
  if (parent === null) return false
  const clause = parent.getChild('MatchingModifierClause')
  return (clause !== null && clause.from < from) || isJoined(parent)
}

/** Names of all series of all processes → labels. */
const knownSeries = (async (): Promise<ReadonlyMap<string, readonly string[]>> => {
  const all = (await Promise.all((['A', 'I', 'S'] as const).map(registeredMetrics))).flat()
  const series = all.flatMap(({ name, type, labels }) =>
    type === 'histogram'
      ? ([
          [`${name}_bucket`, [...labels, 'le']],
          [`${name}_count`, labels],
          [`${name}_sum`, labels],
        ] as const)
      : ([[name, labels]] as const),
  )
  return new Map([...series, ['up', []]])
})()

/** Throws unless some process has the metrics of an expression, with the labels that it uses. */
export async function expectKnown(expression: string): Promise<void> {
  const { metrics, groupings, joined } = usesOf(expression)
  expect(metrics.size).toBeGreaterThan(0)
  const known = await knownSeries
  for (const [metric, labels] of metrics) {
    const its = known.get(metric)
    if (its === undefined) throw new Error(`no process tells ${metric}`)
    expect([...its, ...targetLabels]).toEqual(
      expect.arrayContaining([...labels, ...(joined.has(metric) ? [] : groupings)]),
    )
  }
}
