import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withLog } from '../engines/logTail.ts'
import { chooseDistinctPorts } from '../engines/ports.ts'
import { waitUntil } from '../engines/waiting.ts'
import { apiServerUrl, hostAddress, podRange, serviceRange } from './addresses.ts'
import type { Credentials } from './credentials.ts'
import { type StartOptions, startPart } from './part.ts'
import { run } from './run.ts'

const readyDeadlineMs = 180_000

type ControlPlaneOptions = StartOptions & { programs: string; credentials: Credentials }

/** Starts etcd, the API server, controllers, scheduler and DNS. Resolves with the path of the administrator's kubeconfig when the API server answers. */
export const startControlPlane = async (options: ControlPlaneOptions): Promise<string> => {
  const { folder, programs, credentials, signal } = options
  const [etcdPort = 0, peerPort = 0, controllerPort = 0, schedulerPort = 0] = await chooseDistinctPorts(4)
  const start = (name: string, command: string, args: readonly string[]) => startPart(options, name, command, args)
  const etcdUrl = `http://127.0.0.1:${etcdPort}`
  await start('etcd', 'etcd', etcdArguments(join(folder, 'etcd'), etcdUrl, `http://127.0.0.1:${peerPort}`))
  const certificates = join(folder, 'certificates')
  const { tokensPath, serviceAccountKeyPath: key } = credentials
  await start('api-server', join(programs, 'kube-apiserver'), [
    `--etcd-servers=${etcdUrl}`,
    `--bind-address=${hostAddress}`,
    `--secure-port=${new URL(apiServerUrl).port}`,
    `--cert-dir=${certificates}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    `--token-auth-file=${tokensPath}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    `--service-cluster-ip-range=${serviceRange}`,
    // By default, logs and exec would look the node's name up.
    '--kubelet-preferred-address-types=InternalIP',
  ])
  // The API server makes its certificate itself, with the authority that has signed it.
  const certificate = join(certificates, 'apiserver.crt')
  const admin = await credentials.kubeconfigOf('admin', certificate)
  const kubectl = join(programs, 'kubectl')
  const isReady = async (): Promise<boolean> =>
    run(kubectl, ['--kubeconfig', admin, 'get', '--raw', '/readyz'], { signal, deadlineMs: 10_000 }).then(
      (text) => text === 'ok',
      () => false,
    )
  const logPath = join(folder, 'logs', 'api-server.log')
  await withLog({ name: 'the API server', logPath, signal }, async () => {
    const answers = await waitUntil(isReady, { deadlineMs: readyDeadlineMs, signal })
    if (!answers) throw new Error(`was not ready within ${readyDeadlineMs / 1_000} s`)
  })
  const kubeconfig = (user: string) => credentials.kubeconfigOf(user, certificate)
  await start('controllers', join(programs, 'kube-controller-manager'), [
    `--kubeconfig=${await kubeconfig('system:kube-controller-manager')}`,
    `--service-account-private-key-file=${key}`,
    // Each controller has the rights of its own that Kubernetes grants it.
    '--use-service-account-credentials',
    `--root-ca-file=${certificate}`,
    `--cluster-cidr=${podRange}`,
    ...ownPort(controllerPort, certificates),
  ])
  await start('scheduler', join(programs, 'kube-scheduler'), [
    `--kubeconfig=${await kubeconfig('system:kube-scheduler')}`,
    ...ownPort(schedulerPort, certificates),
  ])
  const corefile = join(folder, 'Corefile')
  await writeFile(corefile, renderCorefile(admin))
  await start('dns', join(programs, 'dns'), ['-conf', corefile])
  return admin
}

const ownPort = (port: number, certificates: string): string[] => [
  '--leader-elect=false',
  '--bind-address=127.0.0.1',
  `--secure-port=${port}`,
  `--cert-dir=${certificates}`,
]

const etcdArguments = (dataFolder: string, clients: string, peers: string): string[] => [
  `--data-dir=${dataFolder}`,
  `--listen-client-urls=${clients}`,
  `--advertise-client-urls=${clients}`,
  `--listen-peer-urls=${peers}`,
  `--initial-advertise-peer-urls=${peers}`,
  `--initial-cluster=default=${peers}`,
  '--log-level=warn',
]

const renderCorefile = (kubeconfig: string): string =>
  `cluster.local:53 {
  bind ${hostAddress}
  errors
  kubernetes cluster.local {
    kubeconfig ${kubeconfig}
  }
}
`
