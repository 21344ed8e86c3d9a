import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { engineNames, externalEngines, variableOf } from '../../../tools/engines/engines.ts'
import { addressesOf, defaultPorts } from '../../../tools/engines/engineUrls.ts'
import { imageName } from '../../../tools/kubernetes/images.ts'
import { run } from '../../../tools/kubernetes/run.ts'
import { useStarted } from '../../support/lifecycle.ts'
import type { Pipeline } from '../../support/pipeline.ts'
import { temporaryFolder } from '../../support/temporaryFolder.ts'

export const chart = 'deploy/helm/tidemark'
const deadlineMs = 300_000
/** A start on a busy machine takes a minute; helm waits for all of them. */
const untilReady = ['--wait', '--timeout', '4m']

const options = () => ({ signal: AbortSignal.timeout(deadlineMs), deadlineMs })

export const kubectl = (...args: readonly string[]): Promise<string> =>
  run(process.env['KUBECTL'] ?? 'kubectl', args, options())
export const helm = (...args: readonly string[]): Promise<string> => run('helm', args, options())

export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value }
type Pod = {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
  readonly spec: { readonly nodeName?: string; readonly containers: readonly { readonly image: string }[] }
  readonly status: {
    readonly phase: string
    readonly podIP?: string
    readonly containerStatuses?: readonly {
      readonly restartCount: number
      readonly ready: boolean
      readonly lastState: { readonly terminated?: { readonly reason: string; readonly exitCode: number } }
      readonly state: { readonly terminated?: { readonly reason: string; readonly exitCode: number } }
    }[]
  }
}

export type Namespace = Awaited<ReturnType<typeof createNamespace>>

/** A namespace that enforces restricted pod security; deleted at the end. */
export const useNamespace = (): Namespace => useStarted('the namespace', createNamespace)

export async function createNamespace() {
  const name = `test-${randomUUID().slice(0, 8)}`
  const folder = await temporaryFolder('tidemark-values-')
  await kubectl('create', 'namespace', name)
  await kubectl('label', 'namespace', name, 'pod-security.kubernetes.io/enforce=restricted')
  const own = (...args: readonly string[]): Promise<string> => kubectl('--namespace', name, ...args)
  const ownHelm = (...args: readonly string[]): Promise<string> => helm('--namespace', name, ...args)
  /** By a label selector. */
  const podsWith = async (selector: string): Promise<readonly Pod[]> => {
    const text = await own('get', 'pods', '--selector', selector, '--output', 'json')
    return (JSON.parse(text) as { items: Pod[] }).items
  }
  const podsOf = (component: string): Promise<readonly Pod[]> => podsWith(`app.kubernetes.io/component=${component}`)
  return {
    name,
    kubectl: own,
    helm: ownHelm,
    /** `helm install`, `upgrade`, with these values over those of the chart; waits until all pods are ready. */
    deploy: async (verb: 'install' | 'upgrade', values: Value, ...args: readonly string[]): Promise<string> => {
      const path = join(folder, `${randomUUID()}.yaml`)
      await writeFile(path, stringify(values))
      return ownHelm(verb, 'tidemark', chart, '--values', path, ...untilReady, ...args)
    },
    /** `helm rollback` to a revision; waits until all pods are ready. */
    rollback: (revision: number): Promise<string> => ownHelm('rollback', 'tidemark', String(revision), ...untilReady),
    podsWith,
    pods: podsOf,
    /** How often the container of each pod of API and indexer was restarted; -1 for a pod without one. */
    restarts: async (): Promise<number[]> => {
      const pods = [...(await podsOf('api')), ...(await podsOf('indexer'))]
      return pods.map(({ status }) => status.containerStatuses?.[0]?.restartCount ?? -1)
    },
    /** The URL of a Service, by the address that all pods of the cluster use. */
    urlOf: async (service: string): Promise<string> =>
      `http://${await own('get', 'service', service, '--output', 'jsonpath={.spec.clusterIP}')}`,
    /** Asks for a pod's end as a drain does: its disruption budget may refuse. */
    evict: async (pod: string): Promise<void> => {
      const path = join(folder, `${randomUUID()}.json`)
      const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace: name } }
      await writeFile(path, JSON.stringify(body))
      await kubectl('create', '--raw', `/api/v1/namespaces/${name}/pods/${pod}/eviction`, '--filename', path)
    },
    /** Creates objects, given as they are or as YAML. */
    apply: async (objects: string | readonly Value[], ...args: readonly string[]): Promise<void> => {
      const path = join(folder, `${randomUUID()}.yaml`)
      const texts = typeof objects === 'string' ? [objects] : objects.map((object) => stringify(object))
      await writeFile(path, texts.join('---\n'))
      await own('apply', '--filename', path, ...args)
    },
    close: async (): Promise<void> => {
      // In a namespace that ends, a Job whose pod fails never ends, and keeps that pod.
      await own('delete', 'jobs', '--all')
      await kubectl('delete', 'namespace', name, '--wait=false')
    },
  }
}

/** Services under the names of docs/kubernetes.md, which lead to the engines outside of the cluster. */
export function engineServices(): Value[] {
  return engineNames.flatMap((name) => {
    const addresses = addressesOf(name, process.env[variableOf[name]] ?? '')
    const labels = { 'kubernetes.io/service-name': name }
    return [
      { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port: defaultPorts[name] }] } },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name, labels },
        addressType: 'IPv4',
        ports: addresses.map(({ port }) => ({ port })),
        endpoints: addresses.map(({ host }) => ({ addresses: [host] })),
      },
    ]
  })
}

/** The values of an installation with the topics and indices of a pipeline, small enough for two CPUs. */
export function valuesFor(
  pipeline: Pick<Pipeline, 'names'>,
  more: Readonly<Record<string, Value>> = {},
): Record<string, Value> {
  const { api = {}, indexer = {}, config = {}, ...others } = more as Record<string, Record<string, Value>>
  const requests = { cpu: '100m', memory: '256Mi' }
  return {
    image: { repository: imageName },
    config: { ...pipeline.names, ...externalEngines(process.env), RATE_LIMIT_PER_MINUTE: '1000000', ...config },
    api: { resources: { requests, limits: { memory: '512Mi' } }, ...api },
    indexer: { resources: { requests, limits: { memory: '768Mi' } }, ...indexer },
    ...others,
  }
}
