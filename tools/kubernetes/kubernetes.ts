import { mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { failWhenEnded, type Service } from '../demo/services.ts'
import { lockOrRefuse } from '../engines/lock.ts'
import { type NodePlan, nodePlan } from './addresses.ts'
import { startControlPlane } from './controlPlane.ts'
import { operatorDefinitions } from './crds.ts'
import { makeCredentials } from './credentials.ts'
import { buildPauseImage, importImages, pauseImage } from './images.ts'
import { routeServices, startSwitch } from './network.ts'
import { type Node, startNode } from './node.ts'
import { checkPrerequisites } from './prerequisites.ts'
import { builtPrograms } from './programs.ts'
import { run } from './run.ts'

const readyDeadlineS = 240

type KubernetesOptions = {
  /** Contains the cluster's data and logs; emptied at the start. */
  folder: string
  nodes: number
  report(step: string): void
  signal: AbortSignal
}
export type Kubernetes = {
  /** The path of the administrator's kubeconfig. */
  readonly kubeconfig: string
  /** The path of a kubectl of the cluster's version. */
  readonly kubectl: string
  /** All processes of the cluster. */
  readonly started: readonly Service[]
  /** Makes images of Docker's known to the nodes. */
  importImages(tags: readonly string[]): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts a Kubernetes of this machine alone, and resolves when its nodes are ready: API server, controllers, scheduler and DNS are processes, and each
 * node is a set of namespaces with containerd, kubelet and kube-proxy. It ends when this process ends, even by a kill.
 *
 * Rejects with UnsuitableSetUp if the machine lacks something, else with the part that failed and the end of its log.
 */
export const startKubernetes = async (options: KubernetesOptions): Promise<Kubernetes> => {
  const { report, signal } = options
  const folder = resolve(options.folder)
  // 1. Kubernetes' programs, and an empty folder.
  await checkPrerequisites(signal)
  await mkdir(join(folder, 'logs'), { recursive: true })
  await using undo = new AsyncDisposableStack()
  // Interfaces and addresses have fixed names, so one cluster runs on a machine.
  const lock = await lockOrRefuse(
    join(tmpdir(), 'tidemark-kubernetes.lock'),
    (pid) => `Process ${pid} already runs a Kubernetes on this machine.`,
  )
  undo.defer(() => lock.release())
  const programs = await builtPrograms({ logPath: join(folder, 'logs', 'build.log'), report, signal })
  for (const name of await readdir(folder)) {
    if (name !== 'logs') await rm(join(folder, name), { recursive: true, force: true })
  }
  const started: Service[] = []
  undo.defer(() => removeControlGroups())
  undo.defer(() => removeImages(folder, options.nodes))
  undo.defer(() => stopAll(started))
  const common = { folder, programs, started, signal }
  const plans = plansOf(options.nodes)
  const credentials = await makeCredentials(folder, plans)
  // 2. The network, and in it the control plane, which listens on the machine's address there.
  const networkSwitch = await startSwitch(common)
  report('starting the control plane')
  const kubeconfig = await startControlPlane({ ...common, credentials })
  const certificate = join(folder, 'certificates', 'apiserver.crt')
  // 3. The nodes, and routes to their pods and to Services.
  const proxy = await credentials.kubeconfigOf('system:kube-proxy', certificate)
  const nodes: Node[] = []
  for (const plan of plans) {
    report(`starting ${plan.name}`)
    const kubelet = await credentials.kubeconfigOf(`system:node:${plan.name}`, certificate)
    const peers = plans.filter((other) => other !== plan)
    nodes.push(await startNode(plan, { ...common, kubelet, proxy, networkSwitch, peers }))
  }
  const [first] = plans
  if (first !== undefined) await routeServices(first, signal)
  const kubectl = join(programs, 'kubectl')
  const ask = (...args: string[]): Promise<string> =>
    run(kubectl, ['--kubeconfig', kubeconfig, ...args], { signal, deadlineMs: (readyDeadlineS + 10) * 1_000 })
  // 4. What a node needs for its first pod.
  await buildPauseImage(programs, { folder, signal })
  const importTo = (tags: readonly string[]): Promise<void> => importImages(tags, nodes, { folder, signal })
  for (const { name } of nodes) {
    await ask('wait', `--timeout=${readyDeadlineS}s`, '--for=create', `node/${name}`)
    await ask('wait', `--timeout=${readyDeadlineS}s`, '--for=condition=Ready', `node/${name}`)
  }
  await importTo([pauseImage])
  report('installing the definitions of other operators')
  const definitions = await operatorDefinitions(signal)
  // Server-side: the definitions of the Prometheus operator are longer than an annotation may be.
  await ask('apply', '--server-side', ...definitions.flatMap((path) => ['--filename', path]))
  const running = undo.move()
  return { kubeconfig, kubectl, started, importImages: importTo, stop: () => running.disposeAsync() }
}

const plansOf = (nodes: number): NodePlan[] => Array.from({ length: nodes }, (_, index) => nodePlan(index + 1))

/** Rejects when a process of the cluster ends, with the end of its log. */
export const failWhenPartEnds = ({ started }: Pick<Kubernetes, 'started'>): Promise<never> =>
  Promise.race(started.map(failWhenEnded))

/** Nodes first: their kubelets would otherwise log errors. */
const stopAll = async (started: readonly Service[]): Promise<void> => {
  for (const { program } of started.toReversed()) await program.stop()
}

/** A gigabyte; the logs beside them stay. */
const removeImages = async (folder: string, nodes: number): Promise<void> => {
  for (const { name } of plansOf(nodes)) await rm(join(folder, name, 'containerd'), { recursive: true, force: true })
}

/** The system removes processes, mounts and interfaces with their namespaces, but not the control groups of containers. */
const removeControlGroups = async (): Promise<void> => {
  const hierarchies = await readdir('/sys/fs/cgroup').catch(() => [])
  for (const hierarchy of ['', ...hierarchies]) {
    const folder = join('/sys/fs/cgroup', hierarchy, 'k8s.io')
    const groups = await readdir(folder, { withFileTypes: true }).catch(() => [])
    for (const group of groups.filter((entry) => entry.isDirectory())) {
      // Fails for one that a container of somebody else uses.
      await rmdir(join(folder, group.name)).catch(() => undefined)
    }
  }
}
