import { join } from 'node:path'
import { type Distribution, ensureUnpacked, type ReportFetch } from './distribution.ts'
import { elasticsearchDefinition, elasticsearchDistribution, elasticsearchMinJdk } from './elasticsearch.ts'
import type { EngineDefinition, EngineName } from './engine.ts'
import { chooseJdk, findJdks, type Jdk } from './jdk.ts'
import { kafkaDefinition, kafkaDistribution, kafkaMinJdk } from './kafka.ts'
import { withLog } from './logTail.ts'
import { accessibleFolder, accessibleTo, findOnPath, unprivilegedUser } from './permissions.ts'
import { missingPrograms, type Prerequisites, PrerequisitesMissing } from './prerequisites.ts'
import { redisDefinition, redisDistribution } from './redis.ts'
import { isUnpacked } from './unpackOnce.ts'

export type Folders = { data: string; logs: string; distributions: string }
export type InstallOptions = { report: ReportFetch; signal: AbortSignal }
/** An engine that this machine can run. */
export type Setup = {
  name: EngineName
  dataFolder: string
  logPath: string
  /** Fetches and unpacks its distribution unless that is there. */
  install(options: InstallOptions): Promise<EngineDefinition>
}

type Checked = Setup & { prerequisites?: Prerequisites; problem?: string }
type Machine = { jdks: readonly Jdk[]; jvmFlags: readonly string[] }

/** Checks what the engines need. Throws PrerequisitesMissing, with all that the machine lacks. */
export const setUp = async (
  names: readonly EngineName[],
  folders: Folders,
  jvmFlags: readonly string[],
): Promise<Setup[]> => {
  const machine = { jdks: await findJdks(process.env), jvmFlags }
  const checks = { elasticsearch: checkElasticsearch, kafka: checkKafka, redis: checkRedis }
  const checked = await Promise.all(names.map((name) => checks[name](folders, machine)))
  const mavenFound = (await findOnPath('mvn', process.env)) !== undefined
  const prerequisites = checked.flatMap((setup) => setup.prerequisites ?? [])
  const problems = [...checked.flatMap(({ problem }) => problem ?? []), ...missingPrograms(prerequisites, mavenFound)]
  if (problems.length > 0) throw new PrerequisitesMissing(problems)
  return checked
}

const checkElasticsearch = async (folders: Folders, { jdks, jvmFlags }: Machine): Promise<Checked> => {
  const user = unprivilegedUser()
  const distributions = await accessibleFolder(folders.distributions, user)
  const dataFolder = join(await accessibleFolder(folders.data, user), 'elasticsearch')
  const accessible = await Promise.all(jdks.map(({ home }) => accessibleTo(user, join(home, 'bin', 'java'))))
  const prerequisites: Prerequisites = {
    engine: 'Elasticsearch',
    minJdk: elasticsearchMinJdk,
    jdks: jdks.filter((_, index) => accessible[index]),
    fetches: !(await isUnpacked(distributions, elasticsearchDistribution.name)),
    user,
  }
  return {
    name: 'elasticsearch',
    dataFolder,
    logPath: join(folders.logs, 'elasticsearch.log'),
    prerequisites,
    install: async (options) => {
      const jdk = jdkFor(prerequisites)
      const home = await unpacked(elasticsearchDistribution, { ...folders, distributions }, { ...options, jdk })
      return elasticsearchDefinition({ home, jdk, jvmFlags, dataFolder, user })
    },
  }
}

const checkKafka = async (folders: Folders, { jdks, jvmFlags }: Machine): Promise<Checked> => {
  const fetches = !(await isUnpacked(folders.distributions, kafkaDistribution.name))
  const prerequisites: Prerequisites = { engine: 'Kafka', minJdk: kafkaMinJdk, jdks, fetches }
  const dataFolder = join(folders.data, 'kafka')
  const logPath = join(folders.logs, 'kafka.log')
  return {
    name: 'kafka',
    dataFolder,
    logPath,
    prerequisites,
    install: async (options) => {
      const jdk = jdkFor(prerequisites)
      const home = await unpacked(kafkaDistribution, folders, { ...options, jdk })
      return kafkaDefinition({ home, jdk, jvmFlags, dataFolder, logPath })
    },
  }
}

/** A redis-server on PATH, else one that is fetched. */
const checkRedis = async (folders: Folders, { jdks }: Machine): Promise<Checked> => {
  const dataFolder = join(folders.data, 'redis')
  const common = { name: 'redis', dataFolder, logPath: join(folders.logs, 'redis.log') } as const
  const onPath = await findOnPath('redis-server', process.env)
  if (onPath !== undefined) return { ...common, install: async () => redisDefinition({ server: onPath, dataFolder }) }

  const platform = `${process.platform}-${process.arch}`
  const distribution = redisDistribution(platform)
  if (distribution === undefined) {
    const problem =
      `A redis-server on PATH: none can be fetched for ${platform}. ` +
      'Install one: Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis.'
    return { ...common, problem, install: () => Promise.reject(new Error(problem)) }
  }
  const prerequisites: Prerequisites = { engine: 'Redis', minJdk: 0, jdks, fetches: true }
  const installed = await isUnpacked(folders.distributions, distribution.name)
  return {
    ...common,
    ...(installed ? {} : { prerequisites }),
    install: async (options) => {
      const home = installed
        ? join(folders.distributions, distribution.name)
        : await unpacked(distribution, folders, { ...options, jdk: jdkFor(prerequisites) })
      return redisDefinition({ server: join(home, 'redis-server'), dataFolder })
    },
  }
}

const jdkFor = ({ engine, minJdk, jdks }: Prerequisites): Jdk => {
  const jdk = chooseJdk(jdks, minJdk)
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
