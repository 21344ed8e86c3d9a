import { type Cluster, type Engine, engineNames } from '../../tools/engines/engines.ts'
import { cutOff } from '../../tools/engines/network.ts'
import type { Random } from '../support/random.ts'
import { type Duration, type Fault, forAWhile, frozen, killed, type Make, type PlanRound, upTo } from './faults.ts'

/** Elasticsearch gives a node up after three failed checks of ten seconds: some faults are over by then, some last longer. */
const shortOrLong: Duration = (random) => (random.chance(0.4) ? upTo(12_000)(random) : 40_000 + random.below(15_000))

/**
 * Plans one fault a round: each node is killed, frozen and cut off from the others, and each engine restarted node by node, in random
 * order and from the beginning again. The next one begins only when the nodes are whole again.
 */
export function oneNodeAfterTheOther(
  cluster: Cluster,
  options: { readonly cutsOff: boolean; untilWhole(): Promise<void> },
): PlanRound {
  let left: Make[] = []
  return (random) => {
    if (left.length === 0) left = shuffledByEngine(cluster, options, random)
    const [make, ...others] = left
    left = others
    return make === undefined ? [] : [{ ...make(random), afterMs: 0 }]
  }
}

/** Kinds of faults and engines alternate, so that a short run has something of each. */
function shuffledByEngine(
  cluster: Cluster,
  { cutsOff, untilWhole }: Parameters<typeof oneNodeAfterTheOther>[1],
  random: Random,
): Make[] {
  const turns = engineNames.map((kind) => {
    const nodes = cluster[kind]
    const makers = nodes.flatMap((node) => [
      killed(node),
      frozen(node, shortOrLong),
      ...(cutsOff ? [isolated(node, cluster)] : []),
    ])
    return random.shuffled([...makers, rolling(kind, nodes, untilWhole)])
  })
  const longest = Math.max(...turns.map(({ length }) => length))
  return Array.from({ length: longest }, (_, at) => turns.flatMap((makers) => makers[at] ?? [])).flat()
}

const isolated = (node: Engine, cluster: Cluster): Make => {
  const others = cluster.started.filter((each) => each !== node && each.kind === node.kind)
  return forAWhile('cut off', node, shortOrLong, () => cutOff(node, others))
}

const rolling = (kind: string, nodes: readonly Engine[], untilWhole: () => Promise<void>): Make => {
  const run: Fault['run'] = async () => {
    for (const node of nodes) {
      await node.stop()
      await node.start()
      await untilWhole()
    }
  }
  return () => ({ name: `${kind} restarted node by node`, target: `${kind}-all`, run })
}
