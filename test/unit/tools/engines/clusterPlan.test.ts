import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { planCluster } from '../../../../tools/engines/clusterPlan.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-plan-'))
})
afterEach(() => rm(folder, { recursive: true }))

const leave = async (name: string, configuration: string): Promise<void> => {
  await mkdir(join(folder, name))
  await writeFile(join(folder, name, 'redis.conf'), configuration)
}
const sentinelConfiguration = (masterPort: number, epoch: number): string =>
  `port 26379\nsentinel monitor tidemark 127.0.0.1 ${masterPort} 2\nsentinel config-epoch tidemark ${epoch}\n`

test('the master of the latest failover is the master again, although a Sentinel missed that failover', async () => {
  await leave('redis-1', 'bind 127.0.0.1\nport 21001\n')
  await leave('redis-2', 'bind 127.0.0.1\nport 21002\n')
  await leave('sentinel-1', sentinelConfiguration(21_001, 0))
  await leave('sentinel-2', sentinelConfiguration(21_002, 1))
  await leave('sentinel-3', sentinelConfiguration(21_002, 1))
  expect((await planCluster(folder)).redisMaster.name).toBe('redis-2')
})
