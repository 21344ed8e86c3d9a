import { createHash, randomBytes } from 'node:crypto'
import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Distribution } from './distribution.ts'
import type { EngineDefinition } from './engine.ts'
import { consoleLog, type Jdk, javaLocale } from './jdk.ts'
import { acceptsConnections, choosePort, loopback } from './ports.ts'
import { type Command, runSupervised } from './supervisedProgram.ts'

const version = '4.3.1'
const slf4jVersion = '2.0.17'
const log4jVersion = '2.24.3'
const formatDeadlineMs = 60_000

export const kafkaMinJdk = 21

const log4j = (artifactId: string) => ({ groupId: 'org.apache.logging.log4j', artifactId, version: log4jVersion })

export const kafkaDistribution: Distribution = {
  name: `kafka-${version}`,
  artifacts: [
    { groupId: 'org.apache.kafka', artifactId: 'kafka_2.13', version },
    { groupId: 'org.slf4j', artifactId: 'slf4j-api', version: slf4jVersion },
    ...['log4j-api', 'log4j-core', 'log4j-slf4j2-impl'].map(log4j),
  ],
  unpack: async ({ fetched }) => fetched,
}

type KafkaOptions = {
  home: string
  jdk: Jdk
  jvmFlags: readonly string[]
  folder: string
  logPath: (name: string) => string
  /** The address at which clients reach it, and which it advertises. */
  host: string
}
/** Each broker is also a controller. */
export type KafkaNode = {
  readonly name: string
  readonly id: number
  readonly port: number
  readonly controllerPort: number
}

/** Defines a single broker, or `node`, which forms a cluster with `nodes`. */
export const kafkaDefinition = (
  options: KafkaOptions,
  node?: KafkaNode,
  nodes: readonly KafkaNode[] = [],
): EngineDefinition => {
  const name = node?.name ?? 'kafka'
  const dataFolder = join(options.folder, name)
  const logPath = options.logPath(name)
  const installed = { ...options, dataFolder, isAlone: node === undefined }
  return {
    kind: 'kafka',
    name,
    host: options.host,
    port: node === undefined ? { preferred: 9092 } : { fixed: node.port },
    startDeadlineMs: node === undefined ? 90_000 : 300_000,
    dataFolder,
    logPath,
    ...(node && { clusterPorts: [node.port, node.controllerPort] }),
    url: (port) => `${options.host}:${port}`,
    prepare: async (port, signal) => {
      await mkdir(dataFolder, { recursive: true })
      const broker = node ?? { id: 1, port, controllerPort: await choosePort() }
      const properties = renderServerProperties(broker, node === undefined ? [broker] : nodes, options.host)
      await writeFile(join(dataFolder, 'server.properties'), properties)
      await writeFile(join(dataFolder, 'log4j2.properties'), consoleLog(' %p %m (%c)%n'))
      const run = { what: 'Formatting', logPath, deadlineMs: formatDeadlineMs, signal }
      const clusterId = uuidOf(node === undefined ? randomBytes(16) : hashOf(options.folder))
      await formatOnce(installed, clusterId, run)
      const heap = node === undefined ? '-Xmx512m' : '-Xmx256m'
      const flags = [heap, ...options.jvmFlags, '-Dlog4j2.configurationFile=log4j2.properties']
      return java(installed, flags, 'kafka.Kafka', ['server.properties'])
    },
    answers: async ({ port, output }, signal) =>
      (await output()).includes('Kafka Server started') &&
      (await acceptsConnections({ host: options.host, port }, signal)),
  }
}

type Broker = Omit<KafkaNode, 'name'>

/**
 * Each partition has a replica on every broker. A write that all in-sync replicas have acknowledged survives the loss of one broker. `log.dirs` is
 * relative to the data folder, so that no path needs escapes.
 */
export const renderServerProperties = (broker: Broker, all: readonly Broker[] = [broker], host = loopback): string => {
  const { id, port, controllerPort } = broker
  const copies = all.length
  const minInSync = Math.max(1, copies - 1)
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': id,
    'controller.quorum.voters': all.map((voter) => `${voter.id}@127.0.0.1:${voter.controllerPort}`).join(','),
    listeners: `PLAINTEXT://${host}:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://${host}:${port}`,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': 'log',
    'auto.create.topics.enable': false,
    'message.max.bytes': 16 * 1024 * 1024,
    'replica.fetch.max.bytes': 16 * 1024 * 1024,
    'offsets.topic.num.partitions': 1,
    'offsets.topic.replication.factor': copies,
    'transaction.state.log.num.partitions': 1,
    'transaction.state.log.replication.factor': copies,
    'transaction.state.log.min.isr': minInSync,
    'share.coordinator.state.topic.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': copies,
    'share.coordinator.state.topic.min.isr': minInSync,
    ...(copies === 1 ? {} : { 'default.replication.factor': copies, 'min.insync.replicas': minInSync }),
    'group.initial.rebalance.delay.ms': 0,
    // A killed broker can register again after its last session has expired, which takes 9 s by default.
    'broker.session.timeout.ms': all.length === 1 ? 3_000 : 4_000,
    'broker.heartbeat.interval.ms': 500,
    'log.cleaner.dedupe.buffer.size': 2_097_152,
  }
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

type Installed = KafkaOptions & { dataFolder: string; isAlone: boolean }

/**
 * The first broker that runs alone writes an archive of its loaded classes, with which later brokers start in half the time. Nodes of a cluster write
 * none: they would write the same file at once.
 */
const java = (installed: Installed, flags: string[], program: string, args: string[]): Command => {
  const { home, jdk, dataFolder, isAlone } = installed
  const archive = isAlone ? ['-XX:+AutoCreateSharedArchive', `-XX:SharedArchiveFile=${join(home, program)}.jsa`] : []
  return {
    command: join(jdk.home, 'bin', 'java'),
    args: ['-cp', join(home, '*'), ...archive, ...flags, program, ...args],
    cwd: dataFolder,
    env: javaLocale,
  }
}

const formatOnce = async (
  installed: Installed,
  clusterId: string,
  run: Parameters<typeof runSupervised>[1],
): Promise<void> => {
  const log = join(installed.dataFolder, 'log')
  if ((await stat(join(log, 'meta.properties')).catch(() => undefined)) !== undefined) return
  // An earlier format that was interrupted has left files.
  await rm(log, { recursive: true, force: true })
  const quickToStart = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
  const format = ['format', '-t', clusterId, '-c', 'server.properties']
  await runSupervised(java(installed, quickToStart, 'kafka.tools.StorageTool', format), run)
}

/** As Kafka writes it. The top bit is 0: a text with a leading dash would be a command-line option. */
const uuidOf = (bytes: Buffer): string => {
  bytes.writeUInt8(bytes.readUInt8(0) & 0x7f, 0)
  return bytes.toString('base64url')
}

/** All brokers of a cluster are formatted with the same id. */
const hashOf = (folder: string): Buffer => createHash('md5').update(folder).digest()
