import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Distribution } from './distribution.ts'
import type { EngineDefinition } from './engine.ts'
import { consoleLog, type Jdk, javaLocale } from './jdk.ts'
import { changeOwner, type User } from './permissions.ts'

const version = '9.4.3'

export const elasticsearchMinJdk = 21

/** Elastic's distribution for integration tests: the server with its core modules, without a JDK. */
export const elasticsearchDistribution: Distribution = {
  name: `elasticsearch-${version}`,
  artifacts: [
    { groupId: 'org.elasticsearch.distribution.integ-test-zip', artifactId: 'elasticsearch', version, type: 'zip' },
  ],
  unpack: async ({ fetched, jar }) => {
    await jar(join(fetched, `elasticsearch-${version}.zip`), fetched)
    const home = join(fetched, `elasticsearch-${version}`)
    await makeReadable(home)
    return home
  },
}

/** Modes are set regardless of the umask: Elasticsearch may run as another user than the one that unpacked it. */
const makeReadable = async (folder: string): Promise<void> => {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644)
  }
  await chmod(folder, 0o755)
}

type ElasticsearchOptions = {
  home: string
  jdk: Jdk
  jvmFlags: readonly string[]
  folder: string
  logPath: (name: string) => string
  user: User | undefined
  /** The address at which clients reach it. Nodes reach each other on loopback. */
  host: string
}
export type ElasticsearchNode = { readonly name: string; readonly port: number; readonly transportPort: number }

/** Defines a single node, or `node`, which forms a cluster with `nodes`. */
export const elasticsearchDefinition = (
  options: ElasticsearchOptions,
  node?: ElasticsearchNode,
  nodes: readonly ElasticsearchNode[] = [],
): EngineDefinition => {
  const name = node?.name ?? 'elasticsearch'
  const dataFolder = join(options.folder, name)
  const clusterName = clusterNameFor(node === undefined ? dataFolder : options.folder)
  const membership = {
    'cluster.name': clusterName,
    ...(node === undefined ? singleNode : membershipOf(node, nodes)),
  }
  return {
    kind: 'elasticsearch',
    name,
    host: options.host,
    port: node === undefined ? { preferred: 9200 } : { fixed: node.port },
    // Nodes of a cluster start together and share the CPUs.
    startDeadlineMs: node === undefined ? 180_000 : 400_000,
    dataFolder,
    logPath: options.logPath(name),
    ...(node && { clusterPorts: [node.transportPort] }),
    url: (port) => `http://${options.host}:${port}`,
    prepare: async (port) => {
      const yml = renderElasticsearchYml({ ...membership, 'http.host': options.host }, dataFolder, port)
      const heap = node === undefined ? '1g' : '512m'
      await writeFolder({ ...options, dataFolder, heap }, yml)
      const { home, jdk, jvmFlags, user } = options
      return {
        command: 'bash',
        args: [join(home, 'bin', 'elasticsearch')],
        cwd: dataFolder,
        env: {
          ...javaLocale,
          PATH: process.env['PATH'] ?? '/usr/bin:/bin',
          HOME: dataFolder,
          ES_JAVA_HOME: jdk.home,
          ES_PATH_CONF: join(dataFolder, 'config'),
          ES_TMPDIR: join(dataFolder, 'tmp'),
          // For the JVM of the launcher, which starts the JVM of the server.
          CLI_JAVA_OPTS: jvmFlags.join(' '),
          // The launcher ignores ES_TMPDIR, and does not remove its files.
          JDK_JAVA_OPTIONS: `-Djava.io.tmpdir="${join(dataFolder, 'tmp')}"`,
        },
        ...(user === undefined ? {} : { user }),
      }
    },
    answers: async ({ port }, signal) => {
      const url = `http://${options.host}:${port}/_cluster/health?wait_for_status=yellow&timeout=1s`
      const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]) })
      const health = (await response.json()) as { cluster_name?: string }
      return response.ok && health.cluster_name === clusterName
    },
  }
}

/** Unique to the folder, to recognise another Elasticsearch at the same port. */
const clusterNameFor = (folder: string): string =>
  `tidemark-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`

type Settings = Readonly<Record<string, string | number | boolean | readonly string[]>>

const singleNode: Settings = { 'discovery.type': 'single-node', 'transport.port': 0 }

/** Once the cluster has formed, Elasticsearch ignores the initial master nodes. */
const membershipOf = (node: ElasticsearchNode, nodes: readonly ElasticsearchNode[]): Settings => ({
  'node.name': node.name,
  'transport.port': node.transportPort,
  'discovery.seed_hosts': nodes.map(({ transportPort }) => `127.0.0.1:${transportPort}`),
  'cluster.initial_master_nodes': nodes.map(({ name }) => name),
  // By default, a node that has lost its master would go on answering reads, with old data.
  'cluster.no_master_block': 'all',
})

const renderElasticsearchYml = (membership: Settings, dataFolder: string, port: number): string => {
  const settings = {
    ...membership,
    'network.host': '127.0.0.1',
    'http.port': port,
    'xpack.security.enabled': false,
    'cluster.routing.allocation.disk.threshold_enabled': false,
    'indices.breaker.total.use_real_memory': false,
    'path.data': join(dataFolder, 'data'),
    'path.logs': join(dataFolder, 'logs'),
  }
  return Object.entries(settings)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    .join('')
}

/** These flags do not affect requests; a start takes 5.3 s of CPU time instead of 6.9 s. */
const quickServerFlags = ['-XX:-AlwaysPreTouch', '-XX:+UnlockDiagnosticVMOptions', '-XX:-BytecodeVerificationRemote']

/**
 * The options of the distribution, without its garbage collection log, and with a small heap. A garbage collector in `jvmFlags` replaces the
 * distribution's, because the JVM does not start with two.
 */
const renderJvmOptions = (shipped: string, heap: string, jvmFlags: readonly string[]): string => {
  const isCollector = (option: string): boolean => /^-XX:\+Use\w+GC$/.test(option)
  const isReplaced = (option: string): boolean => isCollector(option) && jvmFlags.some(isCollector)
  const kept = shipped
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('-Xlog') && !isReplaced(line))
  const quick = jvmFlags.length === 0 ? [] : [...jvmFlags, ...quickServerFlags]
  return [...kept, `-Xms${heap}`, `-Xmx${heap}`, ...quick, ''].join('\n')
}

const writeFolder = async (
  { home, jvmFlags, dataFolder, heap, user }: ElasticsearchOptions & { dataFolder: string; heap: string },
  yml: string,
): Promise<void> => {
  const config = join(dataFolder, 'config')
  await rm(join(dataFolder, 'tmp'), { recursive: true, force: true })
  for (const name of ['config', 'data', 'logs', 'tmp']) await mkdir(join(dataFolder, name), { recursive: true })
  await writeFile(join(config, 'elasticsearch.yml'), yml)
  await writeFile(
    join(config, 'jvm.options'),
    renderJvmOptions(await readFile(join(home, 'config', 'jvm.options'), 'utf8'), heap, jvmFlags),
  )
  await writeFile(join(config, 'log4j2.properties'), consoleLog('[%-5p][%-25c{1.}] %m%n'))
  if (user !== undefined) await changeOwner(user, dataFolder)
}
