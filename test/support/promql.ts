import { parser } from '@prometheus-io/lezer-promql'
import { registeredMetrics } from './metrics.ts'

/** The metrics of an expression with the labels they are selected by, and the labels it groups by. */
export type Uses = {
  readonly metrics: ReadonlyMap<string, readonly string[]>
  readonly groupings: readonly string[]
}

/** Given to every series by Prometheus itself. */
const targetLabels = ['job', 'instance']

/** What an expression reads; throws for what is no PromQL. */
export function usesOf(expression: string): Uses {
  const metrics = new Map<string, string[]>()
  const groupings: string[] = []
  let selected = ''
  parser.parse(expression).iterate({
    enter: ({ type, from, to, node }) => {
      if (type.isError) throw new Error(`${expression} is wrong at ${from}`)
      const text = expression.slice(from, to)
      if (type.name === 'Identifier' && node.parent?.name === 'VectorSelector') {
        selected = text
        metrics.set(text, metrics.get(text) ?? [])
      }
      if (type.name !== 'LabelName') return
      if (node.parent?.name === 'GroupingLabels') groupings.push(text)
      else metrics.get(selected)?.push(text)
    },
  })
  return { metrics, groupings }
}

/** Every series that a process tells, with its labels. */
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

/** Fails unless an expression reads metrics that some process tells, by labels that they have. */
export async function expectKnown(expression: string): Promise<void> {
  const { metrics, groupings } = usesOf(expression)
  expect(metrics.size).toBeGreaterThan(0)
  const known = await knownSeries
  for (const [metric, labels] of metrics) {
    const its = known.get(metric)
    if (its === undefined) throw new Error(`no process tells ${metric}`)
    expect([...its, ...targetLabels]).toEqual(expect.arrayContaining([...labels, ...groupings]))
  }
}
