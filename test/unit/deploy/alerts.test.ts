import { readFileSync } from 'node:fs'
import { parser } from '@prometheus-io/lezer-promql'
import { parse } from 'yaml'
import { registeredMetrics } from '../../support/metrics.ts'

type Rule = {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook_url', string>>
}
type RuleFile = { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] }

const { groups } = parse(readFileSync('deploy/alerts.yml', 'utf8')) as RuleFile
const rules = groups.flatMap((group) => group.rules)
/** Given to every series by Prometheus itself. */
const targetLabels = ['job', 'instance']

/** Metric → labels, of every selector and grouping in an expression; throws for what is no PromQL. */
function usesOf(expression: string): { metrics: Map<string, string[]>; groupings: string[] } {
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
const known = (async (): Promise<Map<string, readonly string[]>> => {
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

test('there are rules, each of its own name', () => {
  expect(rules.length).toBeGreaterThan(10)
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
})

test.each(rules.map((rule) => [rule.alert, rule] as const))(
  '%s asks for metrics and labels that are there',
  async (_, rule) => {
    const { metrics, groupings } = usesOf(rule.expr)
    expect(metrics.size).toBeGreaterThan(0)
    for (const [metric, labels] of metrics) {
      const its = (await known).get(metric)
      if (its === undefined) throw new Error(`no process tells ${metric}`)
      expect([...its, ...targetLabels]).toEqual(expect.arrayContaining([...labels, ...groupings]))
    }
  },
)

test.each(rules.map((rule) => [rule.alert, rule] as const))('%s says what to do', (alert, { labels, annotations }) => {
  const { summary, description, runbook_url: url } = annotations
  expect(['warning', 'critical']).toContain(labels.severity)
  expect([summary, description].map((text) => typeof text)).toEqual(['string', 'string'])
  const [file, anchor] = url.split('#')
  expect(file).toBe('docs/runbook.md')
  const sections = readFileSync('docs/runbook.md', 'utf8').split(/^## /m).slice(1)
  const section = sections.find((each) => each.split('\n')[0]?.toLowerCase() === anchor)
  expect(section?.split('\n')[0]).toBe(alert)
  for (const part of ['**Cause.**', '**Check.**', '**Remedy.**']) expect(section).toContain(part)
})
