import { readFileSync } from 'node:fs'

/** A panel of a dashboard of deploy/grafana, with the results of its queries. */
export type Panel = {
  readonly title: string
  readonly type: string
  readonly place: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly unit: string
  readonly series: readonly Series[]
  readonly rows: readonly Row[]
}

/** Values at times, in ms. */
export type Series = { readonly name: string; readonly points: readonly (readonly [number, number])[] }
type Row = Readonly<Record<string, unknown>>

type Target = {
  readonly expr?: string
  readonly instant?: boolean
  readonly legendFormat?: string
  readonly url?: string
  readonly url_options?: { readonly params: readonly { readonly key: string; readonly value: string }[] }
  readonly root_selector?: string
  readonly columns?: readonly { readonly selector: string; readonly text: string; readonly type: string }[]
}
type Dashboard = {
  readonly title: string
  readonly panels: readonly {
    readonly title: string
    readonly type: string
    readonly gridPos: Panel['place']
    readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
    readonly targets?: readonly Target[]
  }[]
}
type Result = {
  readonly metric: Readonly<Record<string, string>>
  readonly value?: [number, string]
  readonly values?: [number, string][]
}

/** Where the data comes from, and for which time. */
export type Sources = {
  readonly prometheus: string
  readonly api: string
  readonly key: string
  readonly from: Date
  readonly to: Date
}

const samples = 60
const deadlineMs = 10_000

/** Runs the queries of a dashboard. */
export async function readPanels(
  name: 'operators' | 'team',
  sources: Sources,
): Promise<{ readonly title: string; readonly panels: readonly Panel[] }> {
  const { title, panels } = JSON.parse(readFileSync(`deploy/grafana/${name}.json`, 'utf8')) as Dashboard
  const read = panels.map(async ({ targets = [], gridPos, fieldConfig, ...panel }): Promise<Panel> => {
    const results = await Promise.all(targets.map((target) => resultOf(target, sources)))
    return {
      ...panel,
      place: gridPos,
      unit: fieldConfig?.defaults.unit ?? '',
      series: results.flatMap(({ series }) => series),
      rows: joined(results.map(({ rows }) => rows)),
    }
  })
  return { title, panels: await Promise.all(read) }
}

type Answer = Pick<Panel, 'series' | 'rows'>

/** The rows of the first query, with what another one says of the same `id`, which is shown no more. */
function joined([rows = [], ...others]: readonly (readonly Row[])[]): readonly Row[] {
  if (others.length === 0) return rows
  const named = new Map(others.flat().map((row) => [row['id'], row]))
  return rows.map(({ id, ...row }) => {
    const { id: _, ...more } = named.get(id) ?? {}
    return { ...row, ...more }
  })
}

const resultOf = (target: Target, sources: Sources): Promise<Answer> =>
  target.expr === undefined ? askApi(target, sources) : askPrometheus(target, target.expr, sources)

async function askPrometheus(target: Target, expression: string, sources: Sources): Promise<Answer> {
  const [start, end] = [sources.from.getTime() / 1_000, sources.to.getTime() / 1_000]
  const query = expression.replaceAll('$__rate_interval', '30s').replaceAll('$__range', `${Math.round(end - start)}s`)
  const time: Record<string, string> = target.instant
    ? { time: String(end) }
    : { start: String(start), end: String(end), step: String((end - start) / samples) }
  const parameters = new URLSearchParams({ query, ...time })
  const url = `${sources.prometheus}/api/v1/${target.instant ? 'query' : 'query_range'}?${parameters}`
  const { data } = (await fetchJson(url, {})) as { data: { result: Result[] } }
  const series = data.result.map(({ metric, values = [] }) => ({
    name: (target.legendFormat ?? '').replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? '').trim(),
    points: values.map(([seconds, value]) => [seconds * 1_000, Number(value)] as const),
  }))
  return { series, rows: data.result.map(({ metric, value }) => ({ ...metric, value: value?.[1] })) }
}

async function askApi(target: Target, sources: Sources): Promise<Answer> {
  const variables: Readonly<Record<string, string>> = {
    '${__from:date:iso}': sources.from.toISOString(),
    '${__to:date:iso}': sources.to.toISOString(),
    '${__timezone}': 'UTC',
  }
  const parameters = (target.url_options?.params ?? []).map(({ key, value }) => [key, variables[value] ?? value])
  const url = `${sources.api}${target.url}?${new URLSearchParams(Object.fromEntries(parameters) as Record<string, string>)}`
  const found = valueAt(await fetchJson(url, { authorization: `Bearer ${sources.key}` }), target.root_selector ?? '')
  const { columns = [] } = target
  const rows = [found]
    .flat()
    .map((row) => Object.fromEntries(columns.map(({ selector, text }) => [text, valueAt(row, selector)])))
  const points = rows.map((row) => [Date.parse(String(row['time'])), Number(row['submissions'])] as const)
  return {
    rows,
    series: columns[0]?.type === 'timestamp' && columns[1]?.type === 'number' ? [{ name: '', points }] : [],
  }
}

const valueAt = (from: unknown, path: string): unknown =>
  path === '' ? from : path.split('.').reduce((value, name) => (value as Row | null)?.[name], from)

async function fetchJson(url: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(deadlineMs) })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return await answer.json()
}
