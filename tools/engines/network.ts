import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Engine, EngineDefinition } from './engine.ts'
import { changeOwner, unprivilegedUser } from './permissions.ts'

const run = promisify(execFile)
const firstUid = 64_001

/** Assigns a user to each node, so that the firewall can match its packets. Without root, assigns none. */
export const ownUsers = (): ((definition: EngineDefinition) => EngineDefinition) => {
  const unprivileged = unprivilegedUser()
  if (unprivileged === undefined) return (definition) => definition
  let uid = firstUid
  return (definition) => {
    const user = { uid: uid++, gid: unprivileged.gid }
    return {
      ...definition,
      user,
      prepare: async (port, signal) => {
        const command = await definition.prepare(port, signal)
        await changeOwner(user, definition.dataFolder)
        return { ...command, user }
      },
    }
  }
}

/** On Linux, as root, with a working iptables. */
export const canCutOff = async (): Promise<boolean> => {
  if (process.platform !== 'linux' || unprivilegedUser() === undefined) return false
  return run('iptables', ['-w', '-L', 'OUTPUT', '-n']).then(
    () => true,
    () => false,
  )
}

/**
 * Packets between the ports of `node` and of `others` are dropped without an answer; all other processes still reach them. Resolves with a function
 * that joins the nodes again. Rejects if `canCutOff` is false.
 */
export const cutOff = async (node: Engine, others: readonly Engine[]): Promise<() => Promise<void>> => {
  const ports = others.flatMap(({ clusterPorts }) => clusterPorts)
  const rules = [packetsOf(node, ports), ...others.map((other) => packetsOf(other, node.clusterPorts))]
  const done: string[][] = []
  const join = async (): Promise<void> => {
    for (const rule of done.splice(0)) await run('iptables', ['-w', '-D', 'OUTPUT', ...rule])
  }
  try {
    for (const rule of rules) {
      await run('iptables', ['-w', '-I', 'OUTPUT', ...rule])
      done.push(rule)
    }
  } catch (error) {
    await join()
    throw error
  }
  return join
}

const packetsOf = ({ name, user }: Engine, ports: readonly number[]): string[] => {
  if (user === undefined) throw new Error(`${name} has no user of its own, by which its packets could be told apart`)
  const owned = ['-m', 'owner', '--uid-owner', String(user.uid)]
  return [...owned, '-p', 'tcp', '-m', 'multiport', '--dports', ports.join(','), '-j', 'DROP']
}
