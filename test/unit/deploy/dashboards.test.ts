import {
  type InfinityTarget,
  type Panel,
  type PrometheusTarget,
  readDashboard,
  withGrafanaVariables,
} from '../../support/dashboards.ts'
import { expectKnown } from '../../support/promql.ts'

const columns = 24
const operators = readDashboard<PrometheusTarget>('operators')
const expressions = operators.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ refId, expr }) => [`${title}, ${refId}`, expr] as const),
)

const overlap = ({ gridPos: a }: Panel<unknown>, { gridPos: b }: Panel<unknown>): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h

describe.each([
  ['operators', operators, 'prometheus'],
  ['team', readDashboard<InfinityTarget>('team'), 'yesoreyeram-infinity-datasource'],
] as const)('%s', (_, dashboard, datasource) => {
  const { panels, templating } = dashboard
  const shown = panels.filter(({ type }) => type !== 'row' && type !== 'text')

  test('uses the data source that its variable selects', () => {
    const chosen = templating.list.find(({ type }) => type === 'datasource')
    expect(chosen?.query).toBe(datasource)
    const uid = `\${${chosen?.name}}`
    for (const { datasource: asked, targets = [] } of shown) {
      expect(asked).toEqual({ type: datasource, uid })
      expect(targets.length).toBeGreaterThan(0)
      expect(targets.map((target) => target.datasource.uid)).toEqual(targets.map(() => uid))
    }
  })

  test('has panels with different names and ids that do not overlap', () => {
    expect(shown.length).toBeGreaterThan(4)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
    for (const [at, panel] of panels.entries()) {
      expect(panel.gridPos.x + panel.gridPos.w).toBeLessThanOrEqual(columns)
      expect(panels.slice(at + 1).find((other) => overlap(panel, other))?.title).toBeUndefined()
    }
  })
})

test.each(expressions)('%s uses metrics and labels that exist', async (_, expression) => {
  await expectKnown(withGrafanaVariables(expression))
})
