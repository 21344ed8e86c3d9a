import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Distribution } from './distribution.ts'
import type { EngineDefinition } from './engine.ts'
import { loopback } from './ports.ts'

const packageVersion = '1.4.3'
const platforms: Partial<Record<string, string>> = {
  'linux-x64': 'redis-server-6.2.6-v5-linux-amd64',
  'linux-arm64': 'redis-server-6.2.7-linux-arm64',
  'darwin-x64': 'redis-server-6.2.6-v5-darwin-amd64',
  'darwin-arm64': 'redis-server-6.2.6-v5-darwin-arm64',
}

/** The server in the embedded-redis package; undefined if the package has none for the platform, such as `linux-x64`. */
export const redisDistribution = (platform: string): Distribution | undefined => {
  const file = platforms[platform]
  if (file === undefined) return undefined
  return {
    name: file,
    artifacts: [
      { groupId: 'com.github.codemonstur', artifactId: 'embedded-redis', version: packageVersion, alone: true },
    ],
    unpack: async ({ fetched, jar }) => {
      await jar(join(fetched, `embedded-redis-${packageVersion}.jar`), join(fetched, 'all'))
      const home = join(fetched, 'home')
      await mkdir(home)
      await rename(join(fetched, 'all', file), join(home, 'redis-server'))
      await chmod(join(home, 'redis-server'), 0o755)
      return home
    },
  }
}

export type RedisOptions = {
  server: string
  folder: string
  logPath: (name: string) => string
  /** The address at which clients reach it. */
  host: string
}
export type RedisNode = { readonly name: string; readonly port: number }

export const redisDefinition = (options: RedisOptions): EngineDefinition => ({
  ...common(options, 'redis'),
  port: { preferred: 6379 },
  prepare: async (port) => {
    const cwd = join(options.folder, 'redis')
    await mkdir(cwd, { recursive: true })
    return { command: options.server, args: redisArguments(port, options.host), cwd, env: {} }
  },
})

export const sentinelName = 'tidemark'
const sentinelQuorum = 2

/** After a failover, the node has the role of its configuration file, which Sentinels have changed. */
export const replicatedRedisDefinition = (
  options: RedisOptions,
  node: RedisNode,
  master: RedisNode,
): EngineDefinition =>
  configured(
    options,
    node,
    [],
    [
      ...redisSettings(node.port, options.host),
      // By default, a master waits five seconds for further replicas before the first copy.
      ['repl-diskless-sync-delay', '0'],
      ...(node === master ? [] : [['replicaof', loopback, String(master.port)]]),
    ],
  )

export const sentinelDefinition = (options: RedisOptions, node: RedisNode, master: RedisNode): EngineDefinition =>
  configured(
    options,
    node,
    ['--sentinel'],
    [
      ...listenOn(node.port, options.host),
      ['sentinel', 'monitor', sentinelName, loopback, String(master.port), String(sentinelQuorum)],
      ['sentinel', 'down-after-milliseconds', sentinelName, '3000'],
      // By default, Sentinels wait six minutes after a failed failover.
      ['sentinel', 'failover-timeout', sentinelName, '10000'],
    ],
  )

/** Writes the configuration file at the first start only: Redis rewrites it when roles change. */
const configured = (
  options: RedisOptions,
  { name, port }: RedisNode,
  flags: readonly string[],
  settings: readonly (readonly string[])[],
): EngineDefinition => {
  let written = false
  return {
    ...common(options, name),
    port: { fixed: port },
    clusterPorts: [port],
    prepare: async () => {
      const cwd = join(options.folder, name)
      if (!written) {
        await mkdir(cwd, { recursive: true })
        await writeFile(join(cwd, configFile), settings.map((words) => `${words.map(quoted).join(' ')}\n`).join(''))
        written = true
      }
      return { command: options.server, args: [configFile, ...flags], cwd, env: {} }
    },
  }
}

const configFile = 'redis.conf'
const quoted = (word: string): string => (word === '' ? '""' : word)

const common = ({ folder, logPath, host }: RedisOptions, name: string): Omit<EngineDefinition, 'port' | 'prepare'> => ({
  kind: 'redis',
  name,
  host,
  startDeadlineMs: 60_000,
  dataFolder: join(folder, name),
  logPath: logPath(name),
  url: (port) => `redis://${host}:${port}`,
  answers: async ({ port, pid }) => {
    const client = new Redis(port, host, {
      lazyConnect: true,
      disconnectTimeout: 100,
      retryStrategy: () => null,
      connectTimeout: 2_000,
    })
    // `connect` rejects, too; the log of Redis has the reason.
    client.on('error', () => undefined)
    try {
      await client.connect()
      return (await client.info('server')).includes(`process_id:${pid}\r`)
    } finally {
      client.disconnect()
    }
  },
})

const listenOn = (port: number, host: string): string[][] => [
  ['bind', host],
  // Else newer versions refuse clients of other machines unless there is a password.
  ...(host === loopback ? [] : [['protected-mode', 'no']]),
  ['port', String(port)],
  ['daemonize', 'no'],
  ['dir', '.'],
]

/** Data are in the append-only file alone. */
const redisSettings = (port: number, host: string): string[][] => [
  ...listenOn(port, host),
  ['save', ''],
  ['appendonly', 'yes'],
  ['appendfsync', 'everysec'],
  ['maxmemory-policy', 'noeviction'],
]

export const redisArguments = (port: number, host = loopback): string[] =>
  redisSettings(port, host).flatMap(([name, ...values]) => [`--${name}`, ...values])
