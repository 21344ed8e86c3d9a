import { setTimeout as sleep } from 'node:timers/promises'
import { type PrometheusTarget, readDashboard, withGrafanaVariables } from '../support/dashboards.ts'
import { eventually } from '../support/eventually.ts'
import { usePipeline } from '../support/pipeline.ts'
import type { Program } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { signInSettings } from '../support/signIns.ts'
import { describePrometheus, type Prometheus, type Series, startPrometheus } from './support/prometheus.ts'

const team = 'acme'
const rangeSeconds = 60
const stepSeconds = 5
const publishedWithinMs = 500

const queries = readDashboard<PrometheusTarget>('operators').panels.flatMap(({ title, targets = [] }) =>
  targets.map((target) => [`${title}, ${target.refId}`, target] as const),
)

describePrometheus('a Prometheus that scrapes one of each process', () => {
  const over = new AbortController()
  let working: Promise<void> | undefined
  let prometheus: Prometheus
  afterAll(async () => {
    over.abort()
    await working
    await prometheus?.close()
  })
  const pipeline = usePipeline()

  beforeAll(async () => {
    const [indexer, api, settings] = await Promise.all([
      pipeline.startIndexer(),
      pipeline.startApi(),
      pipeline.startSettings(signInSettings),
    ])
    prometheus = await startPrometheus({
      global: { scrape_interval: '1s', scrape_timeout: '1s' },
      scrape_configs: Object.entries({ api, indexer, settings }).map(([name, { adminUrl }]) => ({
        job_name: `tidemark-${name}`,
        static_configs: [{ targets: [new URL(adminUrl).host] }],
      })),
    })
    await pipeline.createKeys([team])
    working = work(api, settings)
  })

  /** Causes every kind of event that the dashboard shows, repeatedly. */
  async function work(api: Program, settings: Program): Promise<void> {
    for (let revision = 1; !over.signal.aborted; revision++) {
      const broken = { key: `${team}/broken`, value: `{"revision": ${revision}` }
      await pipeline.produce('forms', [stateRecord('forms', `${team}/form-1`, revision), broken])
      await pipeline.produce('submissions', [stateRecord('submissions', `${team}/s-${revision}`, revision)])
      // 304 needs a list whose newest change is published.
      await sleep(publishedWithinMs, undefined, { signal: over.signal }).catch(() => undefined)
      const headers = { authorization: `Bearer ${pipeline.keyOf(team)}` }
      const first = await fetch(`${api.url}/api/v1/forms?Limit=5`, { headers })
      const etag = first.headers.get('etag') ?? ''
      await Promise.all([
        first.text(),
        fetch(`${api.url}/api/v1/forms?Limit=5`, { headers }),
        fetch(`${api.url}/api/v1/forms?Limit=5`, { headers: { ...headers, 'if-none-match': etag } }),
        fetch(`${api.url}/api/v1/records`, { headers: { authorization: 'Bearer rqp_acct_nobody' } }),
        fetch(`${settings.url}/keys`),
      ])
    }
  }

  /** Queries as Grafana does for a panel of the last minute. */
  async function seriesOf({ expr, instant }: PrometheusTarget): Promise<readonly Series[]> {
    const query = withGrafanaVariables(expr)
    const end = Date.now() / 1_000
    const asked = instant
      ? prometheus.ask('query', { query, time: String(end) })
      : prometheus.ask('query_range', {
          query,
          start: String(end - rangeSeconds),
          end: String(end),
          step: String(stepSeconds),
        })
    return (await asked).result
  }

  test.each(queries)('the panel %s has data', async (_, target) => {
    await eventually(async () => (await seriesOf(target)).some(hasNumber))
    const named = (await seriesOf(target)).filter(hasNumber).map(({ metric }) => metric)
    if (target.expr.endsWith('or on () vector(0)')) return
    for (const [, label = ''] of (target.legendFormat ?? '').matchAll(/\{\{(\w+)\}\}/g))
      expect(named.map((labels) => typeof labels[label])).toEqual(named.map(() => 'string'))
  })
})

const hasNumber = ({ value, values = [] }: Series): boolean =>
  [value, ...values].some((sample) => Number.isFinite(Number(sample?.[1])))
