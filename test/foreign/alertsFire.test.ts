import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { describePrometheus, promtool } from './support/prometheus.ts'

type RuleFile = { readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[] }
type Moment = { readonly eval_time: string; readonly alertname: string; readonly exp_alerts: readonly object[] }
type CaseFile = { readonly tests: readonly { readonly name: string; readonly alert_rule_test: readonly Moment[] }[] }

const { groups } = parse(readFileSync('deploy/alerts.yml', 'utf8')) as RuleFile
const { tests: cases } = parse(readFileSync('deploy/alerts.test.yml', 'utf8')) as CaseFile
const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))

/** `7m15s` in seconds. */
function secondsOf(duration: string): number {
  const { minutes = 0, seconds = 0 } = /^(?:(?<minutes>\d+)m)?(?:(?<seconds>\d+)s)?$/.exec(duration)?.groups ?? {}
  return Number(minutes) * 60 + Number(seconds)
}

test.each(alerts)('%s has test data in which it is silent at one sample and fires at the next', (alert) => {
  const tried = cases.filter(({ name }) => name === alert)
  expect(tried).not.toEqual([])
  for (const { alert_rule_test: moments } of tried) {
    const [before, after] = moments
    expect(moments.map(({ alertname }) => alertname)).toEqual(moments.map(() => alert))
    expect([before?.exp_alerts.length, after?.exp_alerts.length]).toEqual([0, 1])
    expect(secondsOf(after?.eval_time ?? '') - secondsOf(before?.eval_time ?? '')).toBe(15)
  }
})

describePrometheus('Prometheus', () => {
  test('accepts the configuration and the rules', async () => {
    const said = await promtool('check', 'config', 'deploy/prometheus.yml')
    expect(said).toContain(`SUCCESS: ${alerts.length} rules found`)
  })

  test('fires each alert on time, with its labels and texts', async () => {
    expect(await promtool('test', 'rules', 'deploy/alerts.test.yml')).toContain('SUCCESS')
  })
})
