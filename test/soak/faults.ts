import { setTimeout as sleep } from 'node:timers/promises'
import { type Cluster, type Engine, type EngineName, engineNames } from '../../tools/engines/engines.ts'
import { cutOff } from '../../tools/engines/network.ts'
import type { Random } from '../support/random.ts'

/** What is done to nodes of one engine. */
export type Fault = {
  readonly name: string
  readonly kind: EngineName
  /** Resolves once its cause is taken away. */
  run(signal: AbortSignal): Promise<void>
}

type Make = (random: Random) => Fault

type Options = { readonly cutsOff: boolean; untilWhole(): Promise<void> }

/** How long a fault lasts, in milliseconds. */
type Duration = (random: Random) => number

const upTo =
  (mostMs: number): Duration =>
  (random) =>
    1_000 + random.below(mostMs - 1_000)

/** Elasticsearch gives a node up after three failed checks of ten seconds: some faults are over by then, some last longer. */
const shortOrLong: Duration = (random) => (random.chance(0.4) ? upTo(12_000)(random) : 40_000 + random.below(15_000))

/**
 * Plans a fault a round: each node is killed, frozen and cut off from the others, and each engine restarted node by node, in random
 * order and from the beginning again. The next one begins only when the nodes are whole again.
 */
export function oneNodeAfterTheOther(cluster: Cluster, options: Options): Make {
  let left: Make[] = []
  return (random) => {
    if (left.length === 0) left = shuffledByEngine(cluster, options, random)
    const make = left.shift()
    if (make === undefined) throw new Error('the cluster has no nodes')
    return make(random)
  }
}

/** Kinds of faults and engines alternate, so that a short run has something of each. */
function shuffledByEngine(cluster: Cluster, { cutsOff, untilWhole }: Options, random: Random): Make[] {
  const turns = engineNames.map((kind) => {
    const nodes = cluster[kind]
    const makers = nodes.flatMap((node) => [killed(node), frozen(node), ...(cutsOff ? [isolated(node, cluster)] : [])])
    return random.shuffled([...makers, rolling(kind, nodes, untilWhole)])
  })
  const longest = Math.max(...turns.map(({ length }) => length))
  return Array.from({ length: longest }, (_, at) => turns.flatMap((makers) => makers[at] ?? [])).flat()
}

const killed = (node: Engine): Make =>
  forAWhile('killed', node, upTo(8_000), async () => {
    node.kill('SIGKILL')
    await node.ended()
    return () => node.start()
  })

const frozen = (node: Engine): Make =>
  forAWhile('frozen', node, shortOrLong, async () => {
    node.kill('SIGSTOP')
    return async () => node.kill('SIGCONT')
  })

const isolated = (node: Engine, cluster: Cluster): Make => {
  const others = cluster.started.filter((each) => each !== node && each.kind === node.kind)
  return forAWhile('cut off', node, shortOrLong, () => cutOff(node, others))
}

const rolling =
  (kind: EngineName, nodes: readonly Engine[], untilWhole: () => Promise<void>): Make =>
  () => ({
    name: `${kind} restarted node by node`,
    kind,
    run: async () => {
      for (const node of nodes) {
        await node.stop()
        await node.start()
        await untilWhole()
      }
    },
  })

/** `begin` resolves with how it is undone. */
const forAWhile =
  (what: string, { name, kind }: Engine, lasts: Duration, begin: () => Promise<() => Promise<unknown>>): Make =>
  (random) => {
    const lastsMs = lasts(random)
    return {
      name: `${name} ${what} for ${(lastsMs / 1_000).toFixed(1)} s`,
      kind,
      run: async (signal) => {
        const end = await begin()
        try {
          await sleep(lastsMs, undefined, { signal })
        } finally {
          await end()
        }
      },
    }
  }
