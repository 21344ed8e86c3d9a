import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { type Need, readConfig } from '../../src/core/config/config.ts'
import { fileVariables } from '../../src/core/config/secretFiles.ts'
import { findOnPath } from '../../tools/engines/permissions.ts'
import { chartNames } from '../support/chartNames.ts'
import { expectKnown } from '../support/promql.ts'
import { useFolder } from '../support/temporaryFolder.ts'
import { describeWith } from './support/describeWith.ts'
import { describePrometheus, promtool } from './support/prometheus.ts'
import { usePython } from './support/python.ts'

const chart = 'deploy/helm/tidemark'
const valueSets = globSync(`${chart}/ci/*-values.yaml`).sort()
const files = `${chart}/ci/files-values.yaml`
const kubernetesVersions = ['1.33', '1.35', '1.37']
const helmDeadlineMs = 60_000

type Variable = { readonly name: string; readonly value?: string }
type Items = { readonly items: readonly { readonly path: string }[] }
type Source = { readonly secret?: Items; readonly configMap?: Items }
type Container = {
  readonly image: string
  readonly args: readonly string[]
  readonly env: readonly Variable[]
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}
type PodSpec = {
  readonly containers: readonly [Container]
  readonly volumes?: readonly { readonly name: string; readonly projected?: { readonly sources: readonly Source[] } }[]
  readonly terminationGracePeriodSeconds?: number
}
type Manifest = {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly template?: { readonly spec: PodSpec }
    readonly jobTemplate?: { readonly spec: { readonly template: { readonly spec: PodSpec } } }
    readonly egress?: readonly { readonly ports: readonly { readonly port: number }[] }[]
    readonly triggers?: readonly { readonly metadata: { readonly query: string; readonly threshold: string } }[]
  }
}

const helm = async (...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)('helm', args, { timeout: helmDeadlineMs, maxBuffer: 2 ** 24 })).stdout

const template = async (...args: readonly string[]): Promise<Manifest[]> =>
  parseAllDocuments(await helm('template', 'quiz', chart, ...args)).map((document) => document.toJS() as Manifest)

/** The pods of manifests, with the names of their objects. */
const podsOf = (manifests: readonly Manifest[] = []): (readonly [string, PodSpec])[] =>
  manifests.flatMap(({ kind, metadata: { name }, spec }) => {
    const made =
      kind === 'Pod' ? { spec: spec as unknown as PodSpec } : (spec?.template ?? spec?.jobTemplate?.spec.template)
    return made === undefined ? [] : [[name, made.spec] as const]
  })

const engines: readonly Need[] = ['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL']
const needs: Readonly<Record<string, readonly Need[]>> = {
  api: ['ELASTICSEARCH_URL', 'REDIS_URL'],
  settings: ['KAFKA_BROKERS', 'REDIS_URL', 'sign-in'],
}
const secretValues: Readonly<Record<string, string>> = {
  REDIS_URL: 'rediss://tidemark:password@redis:6379',
  SIGN_IN_SECRET: 'x'.repeat(32),
}

/** Paths that the volumes of a pod have in its container. */
function mountedPaths({ containers: [{ volumeMounts = [] }], volumes = [] }: PodSpec): Set<string> {
  return new Set(
    volumeMounts.flatMap(({ name, mountPath }) => {
      const { projected } = volumes.find((volume) => volume.name === name) ?? {}
      const items = (projected?.sources ?? []).flatMap(({ secret, configMap }) => (secret ?? configMap)?.items ?? [])
      return items.map(({ path }) => `${mountPath}/${path}`)
    }),
  )
}

/** The environment of a process, with values in place of files, which are not there; each is mounted. */
function environmentOf(pod: PodSpec): Record<string, string> {
  const mounted = mountedPaths(pod)
  const given = pod.containers[0].env.map(({ name, value }) => {
    const variable = fileVariables.get(name) ?? name
    if (!name.endsWith('_FILE')) return [name, value ?? secretValues[name] ?? 'a-secret'] as const
    if (!value?.startsWith('/vault/')) expect(mounted).toContain(value)
    return [variable, variable === name ? '' : (secretValues[variable] ?? 'a-secret')] as const
  })
  expect(new Set(given.map(([name]) => name)).size).toBe(given.length)
  return Object.fromEntries(given)
}

const nothing = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true }
const restricted = {
  ...{ automountServiceAccountToken: false, enableServiceLinks: false },
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [{ securityContext: nothing }],
}

describeWith('helm', (await findOnPath('helm', process.env)) !== undefined)('the chart', () => {
  const python = usePython('kubernetes')
  const rendered = new Map<string, Manifest[]>()
  const folder = useFolder()
  beforeAll(async () => {
    for (const values of valueSets) {
      const manifests = await template('--values', values)
      rendered.set(values, manifests)
      const json = manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n')
      await writeFile(join(folder, basename(values)), json)
    }
  })

  test.each(valueSets)('%s: helm lint finds no problem', async (values) => {
    expect(await helm('lint', '--strict', chart, '--values', values)).toContain('0 chart(s) failed')
  })

  test.each(kubernetesVersions)('all manifests are valid for Kubernetes %s', async (version) => {
    expect(valueSets.length).toBe(5)
    const written = valueSets.map((values) => join(folder, basename(values)))
    const said = await python.run('kubernetes-validate', ['-k', version, '--strict', ...written])
    const unknown = [...said.matchAll(/find schema for kind (\w+)/g)].map(([, kind]) => kind)
    expect(new Set(unknown)).toEqual(new Set(['HTTPRoute', 'PrometheusRule', 'ScaledObject', 'ServiceMonitor']))
    expect(said.match(/ passed for resource /g)?.length).toBeGreaterThan(50)
  })

  test.each(valueSets)('%s: every pod is restricted, sets no user id and terminates in time', (values) => {
    for (const [, pod] of podsOf(rendered.get(values))) {
      expect(pod).toMatchObject(restricted)
      const more = /"(host(Network|PID|IPC|Path|Port)|runAs(User|Group)|privileged|add|persistentVolumeClaim)":/
      expect(JSON.stringify(pod)).not.toMatch(more)
      const drainSeconds = Number(environmentOf(pod)['DRAIN_MS'] ?? 0) / 1_000
      expect(pod.terminationGracePeriodSeconds ?? 30).toBeGreaterThanOrEqual(drainSeconds + 15)
    }
  })

  const idp = 'SIGN_IN_JWKS_URL=https://quiz.example.com'
  const tokens = 'KAFKA_OAUTH_TOKEN_URL=https://id.example.com'
  const withKafka = ['indexer', 'settings', 'rebuild', 'verify'].map((each) => [each, [443]])
  test.each<[why: string, values: readonly string[], open: Readonly<Record<string, readonly number[]>>]>([
    ['nothing outside is asked', [], {}],
    ['the product has public keys', [`config.${idp}/keys`], { settings: [443] }],
    ['they are at a port of their own', [`settings.config.${idp}:8443/keys`], { settings: [8443] }],
    ['Kafka wants tokens', [`config.${tokens}/token`], Object.fromEntries(withKafka)],
    [
      'so do both, the indexer elsewhere',
      [`config.${idp}/keys`, `settings.config.${tokens}/token`, `indexer.config.${tokens}:9443/token`],
      {
        ...{ settings: [443], indexer: [9443], rebuild: [9443], verify: [9443] },
      },
    ],
    ['AWS gives credentials', ['config.KAFKA_SASL_MECHANISM=aws-msk-iam'], Object.fromEntries(withKafka)],
  ])('besides DNS and engines, no port is open to the outside when %s', async (_why, values, open) => {
    const given = ['networkPolicy.enabled=true', ...values].flatMap((each) => ['--set', each])
    const manifests = await template('--values', `${chart}/ci/settings-values.yaml`, ...given)
    const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy')
    const expected = [53, 9200, 9092, 6379]
    const opened = policies.map(({ metadata: { name }, spec }): [string, number[]] => {
      const ports = (spec.egress ?? []).flatMap((rule) => rule.ports.map(({ port }) => port))
      return [name.replace('tidemark-', ''), ports.filter((port) => !expected.includes(port))]
    })
    expect(opened.length).toBe(5)
    expect(Object.fromEntries(opened.filter(([, ports]) => ports.length > 0))).toEqual(open)
  })

  test.each(valueSets)('%s: every process and job has valid and complete variables', (values) => {
    for (const [name, pod] of podsOf(rendered.get(values)).filter(([name]) => !name.endsWith('-test'))) {
      const read = readConfig(environmentOf(pod), needs[pod.containers[0].args[0] ?? ''] ?? engines)
      expect([name, read.ok ? [] : read.problems]).toEqual([name, []])
    }
  })

  test('pod settings reach every pod, that of `helm test` included, and annotations reach Deployments, Services and routes', () => {
    const manifests = rendered.get(`${chart}/ci/full-values.yaml`) ?? []
    const pods = podsOf(manifests)
    expect(pods.length).toBe(7)
    for (const [, pod] of pods) {
      expect(pod).toMatchObject({ hostAliases: [{ ip: '10.0.0.9' }], dnsConfig: { options: [{ name: 'ndots' }] } })
      expect(pod).toMatchObject({ tolerations: [{ key: 'replicas' }], imagePullSecrets: [{ name: 'registry' }] })
    }
    const named = (kind: string, name: string): unknown =>
      manifests.find((each) => each.kind === kind && each.metadata.name === name)
    const annotations = { 'argocd.argoproj.io/sync-wave': '1' }
    for (const process of ['api', 'indexer', 'settings'])
      expect(named('Deployment', `quiz-replica-${process}`)).toMatchObject({ metadata: { annotations } })
    const api = 'quiz-replica-api'
    expect(named('Service', api)).toMatchObject({ spec: { loadBalancerSourceRanges: ['10.0.0.0/8'] } })
    const rules = [{ backendRefs: [{ name: api, port: 80 }], timeouts: { request: '0s' } }]
    expect(named('HTTPRoute', api)).toMatchObject({ spec: { parentRefs: [{ name: 'public' }], rules } })
    expect(named('ConfigMap', 'beside')).toMatchObject({ data: { kept: 'true' } })
  })

  test('the shares of a verification are an indexed Job: each pod compares the share with its completion index', () => {
    const manifests = rendered.get(`${chart}/ci/full-values.yaml`) ?? []
    const verify = manifests.find(({ kind, metadata }) => kind === 'CronJob' && metadata.name.endsWith('verify'))
    expect(verify?.spec.jobTemplate?.spec).toMatchObject({
      completionMode: 'Indexed',
      completions: 4,
      parallelism: 2,
      template: { spec: { containers: [{ args: ['verify', '--json', '--share', '$(JOB_COMPLETION_INDEX)/4'] }] } },
    })
  })

  test('the members of a rebuild are an indexed Job: the pod with completion index 0 leads', () => {
    const manifests = rendered.get(`${chart}/ci/full-values.yaml`) ?? []
    const rebuild = manifests.find(({ kind, metadata }) => kind === 'CronJob' && metadata.name.endsWith('rebuild'))
    expect(rebuild?.spec.jobTemplate?.spec).toMatchObject({
      completionMode: 'Indexed',
      completions: 3,
      parallelism: 3,
      template: { spec: { containers: [{ args: ['rebuild', '--member', '$(JOB_COMPLETION_INDEX)'] }] } },
    })
  })

  test('a release `tidemark` has the names that the documentation uses', async () => {
    const manifests = await helm('template', 'tidemark', chart, '--values', files)
    const made = parseAllDocuments(manifests).map((document) => document.toJS() as Manifest)
    for (const kind of ['Deployment', 'CronJob', 'Service']) {
      const names = made.flatMap((each) => (each.kind === kind ? [each.metadata.name] : []))
      expect(new Set(names)).toEqual(new Set(chartNames[kind.toLowerCase()]))
    }
    for (const component of chartNames['app.kubernetes.io/component='] ?? [])
      expect(manifests).toContain(`app.kubernetes.io/component: ${component}\n`)
  })

  test('the image tag of a component overrides the common digest', async () => {
    const digest = `sha256:${'0'.repeat(64)}`
    const set = `image.digest=${digest},api.image.tag=0.0.9`
    const pods = new Map(podsOf(await template('--values', files, '--set', set)))
    expect(pods.get('quiz-tidemark-api')?.containers[0].image).toBe('tidemark:0.0.9')
    expect(pods.get('quiz-tidemark-indexer')?.containers[0].image).toBe(`tidemark@${digest}`)
  })

  test('the pod of `helm test` has the extra volumes for its init containers', () => {
    const pods = new Map(podsOf(rendered.get(files)))
    expect(pods.get('quiz-tidemark-test')?.volumes).toMatchObject([{ name: 'vault' }])
  })

  test('the secret of a verification replaces that of the indexer completely', async () => {
    const secret = (component: string, from: object): string[] => [
      '--set-json',
      `${component}.secrets=${JSON.stringify({ ELASTICSEARCH_PASSWORD: from })}`,
    ]
    const values = ['--values', `${chart}/ci/full-values.yaml`]
    const own = [
      ...secret('indexer', { secret: 'es-indexer', key: 'password' }),
      ...secret('verify', { secret: 'es-verify' }),
    ]
    const manifests = await helm('template', 'quiz', chart, ...values, ...own)
    expect(manifests).toMatch(/name: es-indexer\s+key: password\n/)
    expect(manifests).toMatch(/name: es-verify\s+key: ELASTICSEARCH_PASSWORD\n/)
  })

  test.each([
    ['config.RATE_LIMIT_PER_MINUTE=7', ['api']],
    ['config.TOPIC_FORMS=f', ['indexer', 'rebuild', 'verify']],
    ['api.secrets.REDIS_URL.key=url', ['api']],
  ])('%s restarts %s, and nothing else', async (set, components) => {
    const after = new Map(podsOf(await template('--values', files, '--set', set)))
    const isChanged = ([name, pod]: readonly [string, PodSpec]) =>
      JSON.stringify(after.get(name)) !== JSON.stringify(pod)
    const changed = podsOf(rendered.get(files)).filter(isChanged)
    expect(changed.map(([name]) => name).sort()).toEqual(components.map((name) => `quiz-tidemark-${name}`))
  })

  test.each([
    ['config.MAX_INFLIGHT_BYTES=1', 'MAX_INFLIGHT_BYTES'],
    ['config.KAFKA_SASL_PASSWORD=secret', 'KAFKA_SASL_PASSWORD'],
    ['config.REDIS_URL=redis://:password@redis', 'REDIS_URL'],
    ['api.config.KAFKA_SSL=true', 'api.config.KAFKA_SSL: the api has no such variable'],
    ['existingSecret=', 'ELASTICSEARCH_PASSWORD needs'],
    ['replicas=3', 'replicas'],
    ['config.KAFKA_BROKERS=', 'indexer: KAFKA_BROKERS is in neither'],
    ['settings.config.SIGN_IN_JWKS_URL=', 'settings: SIGN_IN_SECRET or SIGN_IN_JWKS_URL is in neither'],
    ['extraPodSpec.hostNetwork=true', 'hostNetwork'],
    ['api.image.pullSecrets={registry}', 'pullSecrets'],
    ['api.httpRoute.enabled=true', 'api.httpRoute.parentRefs is empty'],
  ])('refuses %s', async (set, complaint) => {
    await expect(template('--values', files, '--set', set)).rejects.toThrow(complaint)
  })

  describePrometheus('autoscaling of indexers by lag', () => {
    test('asks for at most one indexer per partition, none for a paused one, nothing while no indexer can write', async () => {
      const scaled = rendered.get(`${chart}/ci/keda-values.yaml`)?.find(({ kind }) => kind === 'ScaledObject')
      const { query = '', threshold } = scaled?.spec.triggers?.[0]?.metadata ?? {}
      for (const part of query.replaceAll(/,?namespace="quiz"/g, '').split(' unless on () ')) await expectKnown(part)
      const partitionSeries = (metric: string, samples: readonly string[]): object[] =>
        samples.map((values, partition) => ({ series: `${metric}{namespace="quiz",partition="${partition}"}`, values }))
      const writerSeries = (instance: string, values: string): object => {
        return { series: `tidemark_check_ok{namespace="quiz",check="writer",instance="${instance}"}`, values }
      }
      const input_series = [
        ...partitionSeries('tidemark_lag_records', ['1000000x40', '5000x40', '1000000+500x40']),
        // The second partition has another owner from minute 5 on, the third is read again from minute 9 on.
        ...partitionSeries('tidemark_partition_paused', ['0x40', '0x20 stale', '1x35 0x5']),
        // Elasticsearch takes nothing in minute 6.
        writerSeries('a', '0x40'),
        writerSeries('b', '1x23 0x4 1x13'),
      ]
      const rules = [{ record: 'wanted', expr: `(${query}) / ${threshold}` }]
      await writeFile(join(folder, 'rules.json'), JSON.stringify({ groups: [{ name: 'keda', rules }] }))
      const wantedAt = (eval_time: string, ...values: readonly number[]): object => ({
        ...{ expr: 'wanted', eval_time },
        exp_samples: values.map((value) => ({ labels: 'wanted', value })),
      })
      const promql_expr_test = [wantedAt('4m', 1.5), wantedAt('6m30s'), wantedAt('8m', 1.5), wantedAt('10m', 2.5)]
      const tests = [{ interval: '15s', input_series, promql_expr_test }]
      await writeFile(join(folder, 'test.json'), JSON.stringify({ rule_files: ['rules.json'], tests }))
      expect(await promtool('test', 'rules', join(folder, 'test.json'))).toContain('SUCCESS')
    })
  })
})
