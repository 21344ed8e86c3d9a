import { documentedMetrics, registeredMetrics } from '../../support/metrics.ts'

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1)

test.each(['A', 'I', 'S'] as const)(
  'docs/metrics.md names what %s tells, with its type and labels',
  async (process) => {
    const registered = await registeredMetrics(process)
    expect(documentedMetrics(process).sort(byName)).toEqual(registered.sort(byName))
  },
)
