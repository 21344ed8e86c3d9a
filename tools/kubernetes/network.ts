import { readlink } from 'node:fs/promises'
import { waitUntil } from '../engines/waiting.ts'
import { hostAddress, hostInterface, type NodePlan, networkBits, serviceRange } from './addresses.ts'
import { type StartOptions, startPart } from './part.ts'
import { run } from './run.ts'

const namespaceDeadlineMs = 20_000

export type Switch = { readonly pid: number }

/** Makes the switch, and connects the machine with it. A switch that another cluster has left is replaced. */
export const startSwitch = async (options: StartOptions): Promise<Switch> => {
  const { signal } = options
  const pid = await startPart(options, 'switch', 'unshare', ['--net', 'sleep', 'infinity'])
  await run('ip', ['link', 'delete', hostInterface], { signal }).catch(() => signal.throwIfAborted())
  await untilNamespace(pid, signal)
  await inNamespace(pid, ['link', 'add', 'switch', 'type', 'bridge'], signal)
  await inNamespace(pid, ['link', 'set', 'switch', 'up'], signal)
  await addCable(pid, 'machine', ['name', hostInterface, 'netns', String(process.pid)], signal)
  await run('ip', ['addr', 'add', `${hostAddress}/${networkBits}`, 'dev', hostInterface], { signal })
  await run('ip', ['link', 'set', hostInterface, 'up'], { signal })
  return { pid }
}

/** Connects a node's network with the switch, and tells the machine where its pods are. Nodes know that of each other (`PEERS` of startNode.sh). */
export const connectNode = async (
  { pid }: Switch,
  { name, address, pods }: NodePlan,
  nodePid: number,
  signal: AbortSignal,
): Promise<void> => {
  await untilNamespace(nodePid, signal)
  await addCable(pid, name, ['name', 'eth0', 'netns', String(nodePid)], signal)
  await run('ip', ['route', 'add', pods, 'via', address], { signal })
}

/** Services are reached from the machine through the first node, whose kube-proxy forwards to pods of all nodes. */
export const routeServices = async ({ address }: NodePlan, signal: AbortSignal): Promise<void> => {
  await run('ip', ['route', 'add', serviceRange, 'via', address], { signal })
}

/** `unshare` has a process id before it has a namespace. */
const untilNamespace = async (pid: number, signal: AbortSignal): Promise<void> => {
  const own = await readlink('/proc/self/ns/net')
  const isApart = async () => (await readlink(`/proc/${pid}/ns/net`)) !== own
  if (!(await waitUntil(isApart, { deadlineMs: namespaceDeadlineMs, signal })))
    throw new Error(`process ${pid} has no network of its own`)
}

/** `otherEnd`: the name of the interface there, and its namespace. */
const addCable = async (
  switchPid: number,
  name: string,
  otherEnd: readonly string[],
  signal: AbortSignal,
): Promise<void> => {
  await inNamespace(switchPid, ['link', 'add', name, 'type', 'veth', 'peer', ...otherEnd], signal)
  await inNamespace(switchPid, ['link', 'set', name, 'master', 'switch', 'up'], signal)
}

const inNamespace = (pid: number, args: readonly string[], signal: AbortSignal): Promise<string> =>
  run('nsenter', ['--target', String(pid), '--net', 'ip', ...args], { signal })
