import { randomBytes } from 'node:crypto'
import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Distribution } from './distribution.ts'
import type { EngineDefinition } from './engine.ts'
import { consoleLog, type Jdk, javaLocale } from './jdk.ts'
import { acceptsConnections, choosePort } from './ports.ts'
import { type Command, runSupervised } from './supervisedProgram.ts'

const version = '4.3.1'
const slf4jVersion = '2.0.17'
const log4jVersion = '2.24.3'
const formatDeadlineMs = 60_000

export const kafkaMinJdk = 17

const log4j = (artifactId: string) => ({ groupId: 'org.apache.logging.log4j', artifactId, version: log4jVersion })

/** The broker's jars and a logger. */
export const kafkaDistribution: Distribution = {
  name: `kafka-${version}`,
  artifacts: [
    { groupId: 'org.apache.kafka', artifactId: 'kafka_2.13', version },
    { groupId: 'org.slf4j', artifactId: 'slf4j-api', version: slf4jVersion },
    ...['log4j-api', 'log4j-core', 'log4j-slf4j2-impl'].map(log4j),
  ],
  unpack: async ({ fetched }) => fetched,
}

export type KafkaOptions = {
  home: string
  jdk: Jdk
  jvmFlags: readonly string[]
  dataFolder: string
  logPath: string
}

export const kafkaDefinition = (options: KafkaOptions): EngineDefinition => ({
  name: 'kafka',
  defaultPort: 9092,
  startDeadlineMs: 90_000,
  dataFolder: options.dataFolder,
  url: (port) => `127.0.0.1:${port}`,
  prepare: async (port, signal) => {
    const { dataFolder, logPath } = options
    await mkdir(dataFolder, { recursive: true })
    const controllerPort = await choosePort()
    await writeFile(join(dataFolder, 'server.properties'), renderServerProperties({ port, controllerPort }))
    await writeFile(join(dataFolder, 'log4j2.properties'), consoleLog(' %p %m (%c)%n'))
    await formatOnce(options, { what: 'Formatting', logPath, deadlineMs: formatDeadlineMs, signal })
    return java(options, [
      '-Xmx512m',
      ...options.jvmFlags,
      '-Dlog4j2.configurationFile=log4j2.properties',
      'kafka.Kafka',
      'server.properties',
    ])
  },
  answers: async ({ port, output }, signal) =>
    (await output()).includes('Kafka Server started') &&
    (await acceptsConnections({ host: '127.0.0.1', port }, signal)),
})

/** `log.dirs` is relative to the data folder, so that no path needs escaping. */
export const renderServerProperties = (ports: { port: number; controllerPort: number }): string => {
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${ports.controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${ports.port},CONTROLLER://127.0.0.1:${ports.controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${ports.port}`,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': 'log',
    'auto.create.topics.enable': false,
    'message.max.bytes': 16 * 1024 * 1024,
    'replica.fetch.max.bytes': 16 * 1024 * 1024,
    'offsets.topic.num.partitions': 1,
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.num.partitions': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'share.coordinator.state.topic.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    // A killed broker can register again only after its last session has expired: 9 s by default.
    'broker.session.timeout.ms': 3_000,
    'broker.heartbeat.interval.ms': 500,
    'log.cleaner.dedupe.buffer.size': 2_097_152,
  }
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

const java = ({ home, jdk, dataFolder }: KafkaOptions, args: string[]): Command => ({
  command: join(jdk.home, 'bin', 'java'),
  args: ['-cp', join(home, '*'), ...args],
  cwd: dataFolder,
  env: javaLocale,
})

const formatOnce = async (options: KafkaOptions, run: Parameters<typeof runSupervised>[1]): Promise<void> => {
  const log = join(options.dataFolder, 'log')
  if ((await stat(join(log, 'meta.properties')).catch(() => undefined)) !== undefined) return
  // An interrupted format may have left files.
  await rm(log, { recursive: true, force: true })
  const quickToStart = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
  const format = ['kafka.tools.StorageTool', 'format', '-t', newClusterId(), '-c', 'server.properties']
  await runSupervised(java(options, [...quickToStart, ...format]), run)
}

/** A UUID as Kafka writes it. Its top bit is clear: a leading dash would make it a command-line option. */
const newClusterId = (): string => {
  const bytes = randomBytes(16)
  bytes.writeUInt8(bytes.readUInt8(0) & 0x7f, 0)
  return bytes.toString('base64url')
}
