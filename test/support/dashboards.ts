import { readFileSync } from 'node:fs'

/** The parts of a dashboard of deploy/grafana that tests read; `Target`: a query of its data source. */
export type Dashboard<Target> = {
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly query: string }[]
  }
  readonly panels: readonly Panel<Target>[]
}

export type Panel<Target> = {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource?: { readonly type: string; readonly uid: string }
  readonly targets?: readonly (Target & { readonly refId: string; readonly datasource: { readonly uid: string } })[]
}

/** A Prometheus query. */
export type PrometheusTarget = { readonly expr: string; readonly instant: boolean; readonly legendFormat?: string }

/** A query of the Infinity data source, which reads rows and columns from the JSON at a URL. */
export type InfinityTarget = {
  readonly url: string
  readonly url_options: { readonly params: readonly { readonly key: string; readonly value: string }[] }
  readonly root_selector: string
  readonly columns: readonly {
    readonly selector: string
    readonly text: string
    readonly type: 'string' | 'number' | 'timestamp' | 'boolean'
  }[]
}

export const readDashboard = <Target>(name: 'operators' | 'team'): Dashboard<Target> =>
  JSON.parse(readFileSync(`deploy/grafana/${name}.json`, 'utf8')) as Dashboard<Target>

/** Replaces Grafana's variables in an expression, as for a dashboard of five minutes. */
export const withGrafanaVariables = (expression: string): string =>
  expression.replaceAll('$__rate_interval', '1m').replaceAll('$__range', '5m')
