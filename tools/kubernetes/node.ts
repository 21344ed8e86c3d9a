import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { hostAddress, type NodePlan, networkBits, podRange } from './addresses.ts'
import { pauseImage } from './images.ts'
import { connectNode, type Switch } from './network.ts'
import { type StartOptions, startPart } from './part.ts'

const script = fileURLToPath(new URL('startNode.sh', import.meta.url))

type NodeOptions = StartOptions & {
  programs: string
  /** The paths of kubeconfigs. */
  kubelet: string
  proxy: string
  networkSwitch: Switch
  /** The other nodes. */
  peers: readonly NodePlan[]
}
export type Node = NodePlan & {
  /** A command with arguments that runs another one in the node's namespaces of network and mounts. */
  readonly enter: readonly string[]
}

/** Starts the processes of a node; it is ready some seconds later. */
export const startNode = async (plan: NodePlan, options: NodeOptions): Promise<Node> => {
  const folder = join(options.folder, plan.name)
  await mkdir(join(folder, 'cni'), { recursive: true })
  await writeFile(join(folder, 'containerd.toml'), renderContainerd(folder))
  await writeFile(join(folder, 'cni', 'pods.conflist'), renderPodNetwork(folder, plan))
  await writeFile(join(folder, 'kubelet.yaml'), renderKubelet(folder, plan))
  await writeFile(join(folder, 'resolv.conf'), `nameserver ${hostAddress}\n`)
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  const pid = await startPart(options, plan.name, 'unshare', [...namespaces, 'bash', script], {
    FOLDER: folder,
    PROGRAMS: options.programs,
    NAME: plan.name,
    ADDRESS: plan.address,
    GATEWAY: hostAddress,
    BITS: String(networkBits),
    KUBELET_CONFIG: options.kubelet,
    PROXY_CONFIG: options.proxy,
    POD_RANGE: podRange,
    PEERS: options.peers.map(({ pods, address }) => `${pods}=${address}`).join(' '),
  })
  await connectNode(options.networkSwitch, plan, pid, options.signal)
  return { ...plan, enter: ['nsenter', '--target', String(pid), '--net', '--mount'] }
}

const renderContainerd = (folder: string): string => `version = 2
root = "${folder}/containerd"
state = "/run/containerd/state"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${pauseImage}"
# A machine that is a container itself may forbid to protect pods from being killed when memory is short.
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "${folder}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
`

/** Pods of a node share a bridge. The machine and all nodes have routes to them, so no address is translated. */
const renderPodNetwork = (folder: string, { pods }: NodePlan): string =>
  JSON.stringify({
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'pods',
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: pods }]],
          routes: [{ dst: '0.0.0.0/0' }],
          dataDir: join(folder, 'addresses'),
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  })

/** Without a hierarchy of cgroups for pods, which a machine that is a container itself may not allow: limits apply to containers all the same. */
const renderKubelet = (folder: string, { address }: NodePlan): string =>
  stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address,
    // Only this machine reaches the node.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    clusterDNS: [hostAddress],
    clusterDomain: 'cluster.local',
    resolvConf: join(folder, 'resolv.conf'),
    podLogsDir: join(folder, 'pod-logs'),
    cgroupDriver: 'cgroupfs',
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    evictionHard: {},
    failSwapOn: false,
    // How soon a pod sees a changed Secret that is mounted as files; a minute by default.
    syncFrequency: '5s',
    failCgroupV1: false,
  })
