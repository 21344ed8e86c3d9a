import { dirname, join } from 'node:path'
import type { ClusterPlan } from './clusterPlan.ts'
import { type Distribution, ensureUnpacked, type ReportFetch } from './distribution.ts'
import { elasticsearchDefinition, elasticsearchDistribution, elasticsearchMinJdk } from './elasticsearch.ts'
import type { EngineDefinition, EngineName } from './engine.ts'
import { UnsuitableSetUp } from './foreground.ts'
import { chooseJdk, findJdks, type Jdk } from './jdk.ts'
import { kafkaDefinition, kafkaDistribution, kafkaMinJdk } from './kafka.ts'
import { withLog } from './logTail.ts'
import { accessibleFolder, accessibleTo, findOnPath, type User, unprivilegedUser } from './permissions.ts'
import { missingPrograms, type Prerequisites } from './prerequisites.ts'
import { redisDefinition, redisDistribution, replicatedRedisDefinition, sentinelDefinition } from './redis.ts'
import { isUnpacked } from './unpackOnce.ts'

type Folders = { data: string; logs: string; distributions: string }
type InstallOptions = { report: ReportFetch; signal: AbortSignal }
type Setup = {
  name: EngineName
  /** Fetches and unpacks the engine's distribution unless it exists. Resolves with a definition for each node. */
  install(options: InstallOptions): Promise<EngineDefinition[]>
}
type SetupOptions = {
  folders: Folders
  jvmFlags: readonly string[]
  /** Undefined for one node of each engine. */
  plan?: ClusterPlan | undefined
  /** The address at which clients reach the engines. */
  host: string
}

type Checked = Setup & { prerequisites?: Prerequisites; problem?: string }
type CheckOptions = SetupOptions & {
  jdks: readonly Jdk[]
  /** The JDKs that `user` may run. */
  othersJdks: readonly Jdk[]
  user: User | undefined
  logPath: (name: string) => string
}

/** Throws UnsuitableSetUp with the missing programs, and how to install them. */
export const setUp = async (names: readonly EngineName[], options: SetupOptions): Promise<Setup[]> => {
  const logPath = (name: string): string => join(options.folders.logs, `${name}.log`)
  const user = unprivilegedUser()
  const jdks = await findJdks(process.env)
  const accessible = await Promise.all(jdks.map(({ home }) => accessibleTo(user, join(home, 'bin', 'java'))))
  const others = jdks.filter((_, index) => accessible[index])
  // Only Elasticsearch runs as another user, but in a cluster, each node has its own user.
  const distributions = await accessibleFolder(options.folders.distributions, user)
  const checkOptions = {
    ...options,
    folders: { ...options.folders, distributions },
    logPath,
    user,
    jdks: options.plan === undefined ? jdks : others,
    othersJdks: others,
  }
  const checks = { elasticsearch: checkElasticsearch, kafka: checkKafka, redis: checkRedis }
  const checked = await Promise.all(names.map((name) => checks[name](checkOptions)))
  const mavenFound = (await findOnPath('mvn', process.env)) !== undefined
  const prerequisites = checked.flatMap((setup) => setup.prerequisites ?? [])
  const problems = [...checked.flatMap(({ problem }) => problem ?? []), ...missingPrograms(prerequisites, mavenFound)]
  if (problems.length > 0)
    throw new UnsuitableSetUp(['Programs that the engines need are missing:', ...problems].join('\n- '))
  return checked
}

const checkElasticsearch = async ({
  folders,
  othersJdks,
  host,
  jvmFlags,
  logPath,
  plan,
  user,
}: CheckOptions): Promise<Checked> => {
  const folder = await accessibleFolder(folders.data, user)
  const prerequisites: Prerequisites = {
    engine: 'Elasticsearch',
    minJdk: elasticsearchMinJdk,
    jdks: othersJdks,
    fetches: !(await isUnpacked(folders.distributions, elasticsearchDistribution.name)),
    user,
  }
  return unpacked('elasticsearch', elasticsearchDistribution, folders, prerequisites, (home, jdk) => {
    const common = { home, jdk, jvmFlags, folder, logPath, user, host }
    const nodes = plan?.elasticsearch
    return nodes?.map((node) => elasticsearchDefinition(common, node, nodes)) ?? [elasticsearchDefinition(common)]
  })
}

const checkKafka = async ({ folders, host, jdks, jvmFlags, logPath, plan, user }: CheckOptions): Promise<Checked> => {
  const fetches = !(await isUnpacked(folders.distributions, kafkaDistribution.name))
  const prerequisites: Prerequisites = {
    engine: 'Kafka',
    minJdk: kafkaMinJdk,
    jdks,
    fetches,
    ...(plan !== undefined && { user }),
  }
  return unpacked('kafka', kafkaDistribution, folders, prerequisites, (home, jdk) => {
    const common = { home, jdk, jvmFlags, folder: folders.data, logPath, host }
    const nodes = plan?.kafka
    return nodes?.map((node) => kafkaDefinition(common, node, nodes)) ?? [kafkaDefinition(common)]
  })
}

const checkRedis = async ({ folders, host, jdks, logPath, plan }: CheckOptions): Promise<Checked> => {
  const defineIn = (folder: string): EngineDefinition[] => {
    const common = { server: join(folder, 'redis-server'), folder: folders.data, logPath, host }
    if (plan === undefined) return [redisDefinition(common)]
    return [
      ...plan.redis.map((node) => replicatedRedisDefinition(common, node, plan.redisMaster)),
      ...plan.sentinels.map((node) => sentinelDefinition(common, node, plan.redisMaster)),
    ]
  }
  const onPath = await findOnPath('redis-server', process.env)
  if (onPath !== undefined) return { name: 'redis', install: async () => defineIn(dirname(onPath)) }

  const platform = `${process.platform}-${process.arch}`
  const distribution = redisDistribution(platform)
  if (distribution === undefined) {
    const problem =
      `A redis-server on PATH: none can be fetched for ${platform}. ` +
      'Install one: Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis.'
    return { name: 'redis', problem, install: () => Promise.reject(new Error(problem)) }
  }
  if (await isUnpacked(folders.distributions, distribution.name))
    return { name: 'redis', install: async () => defineIn(join(folders.distributions, distribution.name)) }
  const prerequisites: Prerequisites = { engine: 'Redis', minJdk: 0, jdks, fetches: true }
  return unpacked('redis', distribution, folders, prerequisites, defineIn)
}

const unpacked = (
  name: EngineName,
  distribution: Distribution,
  { logs, distributions }: Folders,
  prerequisites: Prerequisites,
  define: (home: string, jdk: Jdk) => EngineDefinition[],
): Checked => ({
  name,
  prerequisites,
  install: async (options) => {
    const jdk = chooseJdk(prerequisites.jdks, prerequisites.minJdk)
    if (jdk === undefined) throw new Error(`${prerequisites.engine} has no JDK`)
    const log = {
      name: distribution.name,
      logPath: join(logs, `${distribution.name}.fetch.log`),
      signal: options.signal,
    }
    const home = await withLog(log, () => ensureUnpacked(distributions, distribution, { ...options, ...log, jdk }))
    return define(home, jdk)
  },
})
