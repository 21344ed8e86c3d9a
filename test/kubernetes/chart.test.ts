import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { chart, createNamespace } from './support/cluster.ts'

const valueSets = globSync(`${chart}/ci/*-values.yaml`).sort()
const kinds = [
  ...['deployments', 'pods', 'services', 'secrets', 'configmaps', 'cronjobs', 'jobs', 'serviceaccounts', 'ingresses'],
  ...['poddisruptionbudgets', 'horizontalpodautoscalers', 'networkpolicies', 'httproutes.gateway.networking.k8s.io'],
  ...['servicemonitors.monitoring.coreos.com', 'prometheusrules.monitoring.coreos.com', 'scaledobjects.keda.sh'],
]

type Deployment = {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly replicas: number }
  readonly status: { readonly replicas?: number; readonly conditions?: readonly { readonly type: string }[] }
}

describe('in a namespace that enforces restricted pod security, the server accepts every object of', () => {
  test.each(valueSets.map((path) => [basename(path), path] as const))('%s, and removes it again', async (_, path) => {
    const namespace = await createNamespace()
    try {
      const rendered = await namespace.helm('template', 'quiz', chart, '--values', path, '--is-upgrade')
      await namespace.helm('install', 'quiz', chart, '--values', path)
      // Strict validation refuses fields that the server does not know.
      await namespace.apply(rendered, '--dry-run=server', '--validate=strict')
      await eventually(async () => {
        const text = await namespace.kubectl('get', 'deployments', '--output', 'json')
        const { items } = JSON.parse(text) as { items: Deployment[] }
        expect(items.flatMap(({ status }) => status.conditions ?? [])).not.toContainEqual(
          expect.objectContaining({ type: 'ReplicaFailure' }),
        )
        return items.length >= 2 && items.every(({ spec, status }) => status.replicas === spec.replicas)
      })
      await namespace.helm('uninstall', 'quiz')
      const selector = 'app.kubernetes.io/instance=quiz'
      await eventually(async () => {
        const left = await namespace.kubectl('get', kinds.join(), '--selector', selector, '--output', 'name')
        return left === ''
      })
    } finally {
      await namespace.close()
    }
  })
})
