import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEngines } from '../../../tools/engines/engines.ts'
import { hostAddress } from '../../../tools/kubernetes/addresses.ts'
import { buildImage, currentTag } from '../../../tools/kubernetes/images.ts'
import { startKubernetes } from '../../../tools/kubernetes/kubernetes.ts'
import { checkOutReleaseBefore } from '../../support/releaseBefore.ts'

declare global {
  var testCluster: AsyncDisposableStack | undefined
}

/** Building Kubernetes takes ten minutes, once. */
const deadlineMs = 60 * 60_000
const folder = 'var/test-kubernetes'

/**
 * Starts a Kubernetes of two nodes with the images of this release and of the one before, and engines that its pods reach. Reuses one that runs already if
 * KUBECONFIG, KUBECTL and the engines' variables say where.
 */
export default async function start(): Promise<void> {
  if (process.env['KUBECTL'] !== undefined) return
  const signal = AbortSignal.timeout(deadlineMs)
  const startedAtMs = Date.now()
  const report = (step: string): void => {
    process.stderr.write(`${Math.round((Date.now() - startedAtMs) / 1_000)} s: ${step}\n`)
  }
  await using undo = new AsyncDisposableStack()
  const cluster = await startKubernetes({ folder, nodes: 2, report, signal })
  undo.defer(() => cluster.stop())
  report('building the images')
  const images = [await buildImage(await currentTag(), { signal })]
  const before = await mkdtemp(join(tmpdir(), 'tidemark-release-'))
  undo.defer(() => rm(before, { recursive: true, force: true }))
  if ((await checkOutReleaseBefore(before)) !== undefined) {
    images.push(await buildImage('before', { source: before, signal }))
    process.env['RELEASE_BEFORE'] = 'before'
  }
  await cluster.importImages(images)
  report('starting the engines')
  const engines = await startEngines({
    ...{ folder: join(folder, 'engines'), distributions: 'var/engines', clean: true, quick: true, host: hostAddress },
    progress: process.stderr,
    signal,
  })
  undo.defer(() => engines.stop())
  Object.assign(process.env, engines.urls, { KUBECONFIG: cluster.kubeconfig, KUBECTL: cluster.kubectl })
  report('ready')
  globalThis.testCluster = undo.move()
}
