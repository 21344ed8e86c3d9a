import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import { type Engines, failWhenEngineEnds, startEngines } from '../engines/engines.ts'
import { runInForeground } from '../engines/foreground.ts'
import { hostAddress } from './addresses.ts'
import { buildImage, currentTag, imageName } from './images.ts'
import { failWhenPartEnds, type Kubernetes, startKubernetes } from './kubernetes.ts'

type Flags = { nodes: '1' | '2' | '3'; folder: string; distributions: string }

const varFolder = fileURLToPath(new URL('../../var', import.meta.url))

export const command = new Command()
  .addOption(new Option('--nodes <number>', 'of the cluster').choices(['1', '2', '3']).default('2'))
  .option('--folder <path>', 'holds data and logs', join(varFolder, 'kubernetes'))
  .option('--distributions <path>', 'where the engines are unpacked', join(varFolder, 'engines'))
  .action((flags: Flags) => runInForeground((stopped) => runCluster(flags, stopped)))

async function runCluster({ nodes, folder, distributions }: Flags, signal: AbortSignal): Promise<void> {
  await using undo = new AsyncDisposableStack()
  const report = (step: string): void => void process.stderr.write(`${step}\n`)
  const cluster = await startKubernetes({ folder, nodes: Number(nodes), report, signal })
  undo.defer(() => cluster.stop())
  report('building the image')
  const image = await buildImage(await currentTag(), { signal })
  await cluster.importImages([image])
  const engines = await startEngines({
    folder: join(folder, 'engines'),
    distributions,
    clean: true,
    quick: true,
    host: hostAddress,
    progress: process.stderr,
    signal,
  })
  undo.defer(() => engines.stop())
  process.stdout.write(describe(cluster, engines, image))
  if (!signal.aborted) {
    await Promise.race([once(signal, 'abort'), failWhenEngineEnds(engines), failWhenPartEnds(cluster)])
  }
}

const describe = ({ kubeconfig, kubectl }: Kubernetes, { urls }: Engines, image: string): string =>
  `A Kubernetes runs, which has the image ${image} and reaches these engines:
${Object.entries(urls)
  .map(([name, value]) => `  ${name}=${value}`)
  .join('\n')}
In another terminal:
  export KUBECONFIG=${kubeconfig} PATH=${kubectl.replace(/\/kubectl$/, '')}:$PATH
  helm install tidemark deploy/helm/tidemark --wait --set image.repository=${imageName} ${Object.entries(urls)
    .map(([name, value]) => `--set config.${name}=${value}`)
    .join(' ')}
  kubectl get pods
Services are reached from this machine, too: curl http://$(kubectl get service tidemark-api -o jsonpath={.spec.clusterIP})/docs
Ctrl-C stops everything.
`
