import { UnsuitableSetUp } from '../engines/foreground.ts'
import { findOnPath } from '../engines/permissions.ts'
import { run } from './run.ts'

/** Programs by the Debian package that has them; empty for what no package of Debian 12 has. */
const programs: Readonly<Record<string, string>> = {
  etcd: 'etcd-server',
  containerd: 'containerd',
  runc: 'runc',
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
  iptables: 'iptables',
  conntrack: 'conntrack',
  ip: 'iproute2',
  nsenter: 'util-linux',
  docker: 'docker.io',
  go: '',
  helm: '',
}
const elsewhere: Readonly<Record<string, string>> = {
  go: 'Go 1.24 or newer, from https://go.dev/dl',
  helm: 'Helm 3 or 4: go install helm.sh/helm/v4/cmd/helm@latest',
}
const path = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`

/** Throws UnsuitableSetUp with everything that the machine lacks. */
export const checkPrerequisites = async (signal: AbortSignal): Promise<void> => {
  if (process.platform !== 'linux')
    throw new UnsuitableSetUp('Only Linux can run this Kubernetes: its nodes are namespaces.')
  const found = await Promise.all(
    Object.keys(programs).map(
      async (name) => [name, await findOnPath(name, { PATH: name.startsWith('/') ? '/' : path })] as const,
    ),
  )
  const missing = found.filter(([, where]) => where === undefined).map(([name]) => name)
  const packages = missing.flatMap((name) => programs[name] || [])
  const isDockerSilent = !missing.includes('docker') && !(await dockerAnswers(signal))
  const problems = [
    ...(process.getuid?.() === 0 ? [] : ['Root: nodes need namespaces, mounts and network interfaces.']),
    ...(packages.length === 0
      ? []
      : [`${missing.filter((name) => programs[name]).join(', ')}: apt-get install ${packages.join(' ')}`]),
    ...missing.flatMap((name) => elsewhere[name] ?? []),
    ...(isDockerSilent ? ['A running Docker, which builds the image: `docker info` fails.'] : []),
  ]
  if (problems.length > 0)
    throw new UnsuitableSetUp(['For a Kubernetes, this machine lacks:', ...problems].join('\n- '))
}

const dockerAnswers = (signal: AbortSignal): Promise<boolean> =>
  run('docker', ['info'], { signal, deadlineMs: 20_000 }).then(
    () => true,
    () => false,
  )
