import { documentedMetrics, isOwn, registeredMetrics } from '../../support/metrics.ts'

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1)

test.each(['A', 'I', 'S'] as const)(
  'docs/metrics.md has every metric of %s, with type and labels, except the default metrics of prom-client',
  async (process) => {
    const registered = (await registeredMetrics(process)).filter(isOwn)
    expect(documentedMetrics(process).sort(byName)).toEqual(registered.sort(byName))
  },
)
