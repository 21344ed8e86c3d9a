import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { expectKnown } from '../../support/promql.ts'

type Rule = {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook_url', string>>
}
type RuleFile = { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] }

const { groups } = parse(readFileSync('deploy/alerts.yml', 'utf8')) as RuleFile
const rules = groups.flatMap((group) => group.rules)
test('every alert has its own name', () => {
  expect(rules.length).toBeGreaterThan(10)
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
})

test.each(rules.map(({ alert, expr }) => [alert, expr] as const))(
  '%s uses metrics and labels that exist',
  async (_, expression) => await expectKnown(expression),
)

test.each(rules.map((rule) => [rule.alert, rule] as const))(
  '%s has a summary, a description and a section of the runbook',
  (alert, { labels, annotations }) => {
    const { summary, description, runbook_url: url } = annotations
    expect(['warning', 'critical']).toContain(labels.severity)
    expect([summary, description].map((text) => typeof text)).toEqual(['string', 'string'])
    const [file, anchor] = url.split('#')
    expect(file).toBe('docs/runbook.md')
    const sections = readFileSync('docs/runbook.md', 'utf8').split(/^## /m).slice(1)
    const section = sections.find((each) => each.split('\n')[0]?.toLowerCase() === anchor)
    expect(section?.split('\n')[0]).toBe(alert)
    for (const part of ['**Cause.**', '**Check.**', '**Remedy.**']) expect(section).toContain(part)
    expect(section).toMatch(/```(?:sh|promql)\n|`tidemark [a-z]|`curl /)
  },
)

const runbook = readFileSync('docs/runbook.md', 'utf8')
const queries = [...runbook.matchAll(/```promql\n([^`]+)/g)].flatMap(([, block = '']) => block.trim().split(/\n */))

test.each(queries)(
  'a query of the runbook uses metrics and labels that exist: %s',
  async (query) => await expectKnown(query),
)
