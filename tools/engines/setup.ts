import { join } from 'node:path'
import { type Distribution, ensureUnpacked } from './distribution.ts'
import { elasticsearchDefinition, elasticsearchDistribution, elasticsearchMinJdk } from './elasticsearch.ts'
import type { EngineDefinition, EngineName } from './engineDefinition.ts'
import { findOnPath } from './executables.ts'
import { chooseJdk, findJdks, type Jdk } from './jdk.ts'
import { kafkaDefinition, kafkaDistribution, kafkaMinJdk } from './kafka.ts'
import { withLog } from './logTail.ts'
import { reachableBy, reachableFolder, unprivilegedUser } from './permissions.ts'
import { missing, type Need, PrerequisitesMissing } from './prerequisites.ts'
import { redisDefinition, redisDistribution } from './redis.ts'
import { isUnpacked } from './unpackOnce.ts'

export type Folders = { data: string; logs: string; distributions: string }
export type InstallOptions = { report: (step: 'fetching' | 'unpacking', detail?: string) => void; signal: AbortSignal }
/** An engine that this machine can run. */
export type Setup = {
  name: EngineName
  dataFolder: string
  logPath: string
  /** Fetches and unpacks what is not there yet. */
  install(options: InstallOptions): Promise<EngineDefinition>
}

type Draft = Setup & { need?: Need; problem?: string }

/** Finds what `names` need on this machine. Throws PrerequisitesMissing with all that it lacks. */
export const setUp = async (
  names: readonly EngineName[],
  folders: Folders,
  jvmFlags: readonly string[],
): Promise<Setup[]> => {
  const jdks = await findJdks(process.env)
  const kinds = { elasticsearch: draftElasticsearch, kafka: draftKafka, redis: draftRedis }
  const drafts = await Promise.all(names.map((name) => kinds[name](folders, jdks, jvmFlags)))
  const needs = drafts.flatMap(({ need }) => need ?? [])
  const mavenFound = (await findOnPath('mvn', process.env)) !== undefined
  const problems = [...drafts.flatMap(({ problem }) => problem ?? []), ...missing(needs, mavenFound)]
  if (problems.length > 0) throw new PrerequisitesMissing(problems)
  return drafts
}

const draftElasticsearch = async (
  folders: Folders,
  jdks: readonly Jdk[],
  jvmFlags: readonly string[],
): Promise<Draft> => {
  const user = unprivilegedUser()
  const distributions = await reachableFolder(folders.distributions, user)
  const dataFolder = join(await reachableFolder(folders.data, user), 'elasticsearch')
  const reachable = await Promise.all(jdks.map(({ home }) => reachableBy(user, join(home, 'bin', 'java'))))
  const need: Need = {
    engine: 'Elasticsearch',
    minJdk: elasticsearchMinJdk,
    jdks: jdks.filter((_, index) => reachable[index]),
    fetches: !(await isUnpacked(distributions, elasticsearchDistribution.name)),
    ...(user === undefined ? {} : { user }),
  }
  return {
    name: 'elasticsearch',
    dataFolder,
    logPath: join(folders.logs, 'elasticsearch.log'),
    need,
    install: async (options) => {
      const jdk = jdkFor(need)
      const home = await unpacked(elasticsearchDistribution, { ...folders, distributions }, { ...options, jdk })
      return elasticsearchDefinition({ home, jdk, jvmFlags, dataFolder, user })
    },
  }
}

const draftKafka = async (folders: Folders, jdks: readonly Jdk[], jvmFlags: readonly string[]): Promise<Draft> => {
  const fetches = !(await isUnpacked(folders.distributions, kafkaDistribution.name))
  const need: Need = { engine: 'Kafka', minJdk: kafkaMinJdk, jdks, fetches }
  const dataFolder = join(folders.data, 'kafka')
  const logPath = join(folders.logs, 'kafka.log')
  return {
    name: 'kafka',
    dataFolder,
    logPath,
    need,
    install: async (options) => {
      const jdk = jdkFor(need)
      const home = await unpacked(kafkaDistribution, folders, { ...options, jdk })
      return kafkaDefinition({ home, jdk, jvmFlags, dataFolder, logPath })
    },
  }
}

const draftRedis = async (folders: Folders, jdks: readonly Jdk[]): Promise<Draft> => {
  const dataFolder = join(folders.data, 'redis')
  const common = { name: 'redis', dataFolder, logPath: join(folders.logs, 'redis.log') } as const
  const ready = (server: string): Draft => ({ ...common, install: async () => redisDefinition({ server, dataFolder }) })
  const installed = await findOnPath('redis-server', process.env)
  if (installed !== undefined) return ready(installed)

  const platform = `${process.platform}-${process.arch}`
  const distribution = redisDistribution(platform)
  if (distribution === undefined) {
    const advice = 'Install one: Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis.'
    const problem = `A redis-server on PATH: none can be fetched for ${platform}. ${advice}`
    return { ...ready('redis-server'), problem }
  }
  const serverIn = (home: string) => join(home, 'redis-server')
  if (await isUnpacked(folders.distributions, distribution.name)) {
    return ready(serverIn(join(folders.distributions, distribution.name)))
  }
  const need: Need = { engine: 'Redis', jdks, fetches: true }
  return {
    ...common,
    need,
    install: async (options) => {
      const home = await unpacked(distribution, folders, { ...options, jdk: jdkFor(need) })
      return redisDefinition({ server: serverIn(home), dataFolder })
    },
  }
}

const jdkFor = ({ engine, minJdk, jdks }: Need): Jdk => {
  const jdk = chooseJdk(jdks, minJdk ?? 0)
  if (jdk === undefined) throw new Error(`${engine} has no JDK`)
  return jdk
}

const unpacked = (
  distribution: Distribution,
  folders: Folders,
  options: InstallOptions & { jdk: Jdk },
): Promise<string> => {
  const logPath = join(folders.logs, `${distribution.name}.fetch.log`)
  return withLog({ name: distribution.name, logPath, signal: options.signal }, () =>
    ensureUnpacked(folders.distributions, distribution, { ...options, logPath }),
  )
}
