import { globSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './run.ts'

const downloadDeadlineMs = 300_000

/** Go modules with the definitions of objects that the chart makes for other operators. */
const sources = [
  { module: 'github.com/kedacore/keda/v2@v2.20.2', files: 'config/crd/bases/*.yaml' },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    files: 'example/prometheus-operator-crd/*.yaml',
  },
  { module: 'sigs.k8s.io/gateway-api@v1.6.3', files: 'config/crd/standard/*.yaml' },
]

/** The paths of the definitions of KEDA, the Prometheus operator and the Gateway API. Go keeps the modules. */
export const operatorDefinitions = async (signal: AbortSignal): Promise<string[]> => {
  const folders = await Promise.all(
    sources.map(async ({ module, files }) => {
      const text = await run('go', ['mod', 'download', '-json', module], { signal, deadlineMs: downloadDeadlineMs })
      return join((JSON.parse(text) as { Dir: string }).Dir, files)
    }),
  )
  return folders.flatMap((pattern) => globSync(pattern))
}
