import { chmod, mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Distribution } from './distribution.ts'
import type { EngineDefinition } from './engine.ts'

const packageVersion = '1.4.3'
const platforms: Partial<Record<string, string>> = {
  'linux-x64': 'redis-server-6.2.6-v5-linux-amd64',
  'linux-arm64': 'redis-server-6.2.7-linux-arm64',
  'darwin-x64': 'redis-server-6.2.6-v5-darwin-amd64',
  'darwin-arm64': 'redis-server-6.2.6-v5-darwin-arm64',
}

/** The server inside the embedded-redis package; undefined where it holds none for `platform`, for example `linux-x64`. */
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

export const redisDefinition = ({ server, dataFolder }: { server: string; dataFolder: string }): EngineDefinition => ({
  name: 'redis',
  defaultPort: 6379,
  startDeadlineMs: 60_000,
  dataFolder,
  url: (port) => `redis://127.0.0.1:${port}`,
  prepare: async (port) => {
    await mkdir(dataFolder, { recursive: true })
    return { command: server, args: redisArguments(port), cwd: dataFolder, env: {} }
  },
  answers: async ({ port, pid }) => {
    const client = new Redis(port, '127.0.0.1', {
      lazyConnect: true,
      disconnectTimeout: 100,
      retryStrategy: () => null,
      connectTimeout: 2_000,
    })
    // connect() rejects as well; the reason is in the log of Redis.
    client.on('error', () => undefined)
    try {
      await client.connect()
      return (await client.info('server')).includes(`process_id:${pid}\r`)
    } finally {
      client.disconnect()
    }
  },
})

/** Redis keeps its data in the append-only file alone, in its working directory. */
export const redisArguments = (port: number): string[] => [
  ...['--bind', '127.0.0.1', '--port', String(port), '--daemonize', 'no', '--dir', '.', '--save', ''],
  ...['--appendonly', 'yes', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction'],
]
