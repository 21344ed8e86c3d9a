import type { ElasticsearchNode } from './elasticsearch.ts'
import type { KafkaNode } from './kafka.ts'
import { chooseDistinctPorts } from './ports.ts'
import type { RedisNode } from './redis.ts'

/** Ports are planned before the first start, because each node's configuration has the ports of the others. */
export type ClusterPlan = {
  readonly elasticsearch: readonly ElasticsearchNode[]
  readonly kafka: readonly KafkaNode[]
  readonly redis: readonly RedisNode[]
  readonly redisMaster: RedisNode
  readonly sentinels: readonly RedisNode[]
}

const numbers = [1, 2, 3]
const portCount = 2 * 3 + 2 * 3 + 2 + 3

/** The master of Redis is its first node. */
export const planCluster = async (): Promise<ClusterPlan> => {
  const ports = await chooseDistinctPorts(portCount)
  const port = (): number => ports.pop() as number
  const named = (kind: string) => (number: number) => ({ name: `${kind}-${number}`, port: port() })
  const redis = numbers.slice(0, 2).map(named('redis'))
  return {
    elasticsearch: numbers.map(named('elasticsearch')).map((node) => ({ ...node, transportPort: port() })),
    kafka: numbers.map((id) => ({ ...named('kafka')(id), id, controllerPort: port() })),
    redis,
    redisMaster: redis[0] as RedisNode,
    sentinels: numbers.map(named('sentinel')),
  }
}
