import { appendFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import kafkajs, { type AclEntry } from 'kafkajs'
import { choosePort } from '../../tools/engines/ports.ts'
import type { Command } from '../../tools/engines/supervisedProgram.ts'
import { runSupervised } from '../../tools/engines/supervisedProgram.ts'
import { startSecured } from './secured.ts'

export type SecuredKafka = Awaited<ReturnType<typeof startSecuredKafka>>

const formatDeadlineMs = 60_000
const clusterId = 'MkU3OEVBNTcwNTJENDM2Qg'

/** Kafka with TLS, SCRAM-SHA-512 and PLAIN for these users, and an authorizer. */
export async function startSecuredKafka(users: Readonly<Record<string, string>>) {
  const securePort = await choosePort()
  const secured = await startSecured('kafka', (definition, { certificate, key }) => ({
    ...definition,
    prepare: async (port, signal) => {
      const command = await definition.prepare(port, signal)
      const { dataFolder } = definition
      const properties = join(dataFolder, 'server.properties')
      const controller = /CONTROLLER:\/\/[\d.:]+/.exec(await readFile(properties, 'utf8'))?.[0] ?? ''
      await writeFile(
        join(dataFolder, 'engine.pem'),
        (await readFile(key, 'utf8')) + (await readFile(certificate, 'utf8')),
      )
      await appendFile(properties, renderSecurity({ port, securePort, controller, users }))
      await formatWithUsers(command, users, { logPath: join(dataFolder, 'format.log'), signal })
      return command
    },
  }))
  const keeper = new kafkajs.Kafka({ brokers: [secured.engine.url], logLevel: kafkajs.logLevel.NOTHING }).admin()
  await keeper.connect()
  return {
    ...secured,
    /** The listener for users; the engine's own address needs no login and allows everything. */
    brokers: `127.0.0.1:${securePort}`,
    keeper,
    stop: async (): Promise<void> => {
      await keeper.disconnect()
      await secured.stop()
    },
  }
}

/** Renders security settings, which override earlier ones of the same name. */
function renderSecurity(options: {
  port: number
  securePort: number
  controller: string
  users: Readonly<Record<string, string>>
}): string {
  const { port, securePort, controller, users } = options
  const listener = `PLAINTEXT://127.0.0.1:${port},SECURE://127.0.0.1:${securePort}`
  const plainUsers = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`)
  const modules = 'org.apache.kafka.common.security'
  const properties = {
    listeners: `${listener},${controller}`,
    'advertised.listeners': listener,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL',
    'listener.name.secure.sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-512',
    'listener.name.secure.plain.sasl.jaas.config': `${modules}.plain.PlainLoginModule required ${plainUsers.join(' ')};`,
    'listener.name.secure.scram-sha-512.sasl.jaas.config': `${modules}.scram.ScramLoginModule required;`,
    'listener.name.secure.ssl.keystore.type': 'PEM',
    'listener.name.secure.ssl.keystore.location': 'engine.pem',
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
  }
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/** Formats the storage with SCRAM users, which are part of the cluster's metadata. */
async function formatWithUsers(
  { args = [], ...java }: Command,
  users: Readonly<Record<string, string>>,
  { logPath, signal }: { logPath: string; signal: AbortSignal },
): Promise<void> {
  await rm(join(java.cwd, 'log'), { recursive: true, force: true })
  const scram = Object.entries(users).flatMap(([name, password]) => [
    '--add-scram',
    `SCRAM-SHA-512=[name=${name},password=${password}]`,
  ])
  const format = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', 'server.properties']
  const command = { ...java, args: [...args.slice(0, 2), ...format, ...scram] }
  await runSupervised(command, { what: 'Formatting', logPath, deadlineMs: formatDeadlineMs, signal })
}

const operations: Readonly<Record<string, kafkajs.AclOperationTypes>> = {
  Create: kafkajs.AclOperationTypes.CREATE,
  Describe: kafkajs.AclOperationTypes.DESCRIBE,
  DescribeConfigs: kafkajs.AclOperationTypes.DESCRIBE_CONFIGS,
  Read: kafkajs.AclOperationTypes.READ,
  Write: kafkajs.AclOperationTypes.WRITE,
}

/** The ACLs of the project's list: line → entry, with `names` in place of the default ones. */
export async function readAcls(names: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, AclEntry>> {
  const lines = (await readFile('security/kafka-acls.txt', 'utf8')).split('\n').filter((line) => line.startsWith('--'))
  return new Map(
    lines.map((line) => {
      const value = (name: string): string | undefined => new RegExp(`--${name} (\\S+)`).exec(line)?.[1]
      const [topic, group] = [value('topic'), value('group')]
      return [
        line,
        {
          principal: value('allow-principal') ?? '',
          host: '*',
          operation: operations[value('operation') ?? ''] ?? kafkajs.AclOperationTypes.UNKNOWN,
          permissionType: kafkajs.AclPermissionTypes.ALLOW,
          resourceType: topic === undefined ? kafkajs.AclResourceTypes.GROUP : kafkajs.AclResourceTypes.TOPIC,
          resourcePatternType:
            value('resource-pattern-type') === 'prefixed'
              ? kafkajs.ResourcePatternTypes.PREFIXED
              : kafkajs.ResourcePatternTypes.LITERAL,
          resourceName: names[topic ?? group ?? ''] ?? topic ?? group ?? '',
        },
      ]
    }),
  )
}
