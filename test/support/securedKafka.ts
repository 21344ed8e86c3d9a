import { appendFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import kafkajs, { type AclEntry } from 'kafkajs'
import { chooseDistinctPorts } from '../../tools/engines/ports.ts'
import { type Command, runSupervised } from '../../tools/engines/supervisedProgram.ts'
import { startSecured } from './secured.ts'

const formatDeadlineMs = 60_000
const clusterId = 'MkU3OEVBNTcwNTJENDM2Qg'

type More = {
  /** Server properties; those of `listener.name.mutual` are of a listener that asks for client certificates of the same authority. */
  readonly properties?: Readonly<Record<string, string>>
  readonly javaOptions?: string
}

/** Kafka with TLS, SCRAM-SHA-512 and PLAIN for these users, and an authorizer. */
export async function startSecuredKafka(users: Readonly<Record<string, string>>, more: More = {}) {
  const [securePort = 0, mutualPort = 0] = await chooseDistinctPorts(2)
  const secured = await startSecured('kafka', (definition, { certificate, key }, ca) => ({
    ...definition,
    prepare: async (port, signal) => {
      const command = await definition.prepare(port, signal)
      const { dataFolder } = definition
      const properties = join(dataFolder, 'server.properties')
      const controller = /CONTROLLER:\/\/[\d.:]+/.exec(await readFile(properties, 'utf8'))?.[0] ?? ''
      const pem = (await readFile(key, 'utf8')) + (await readFile(certificate, 'utf8'))
      await writeFile(join(dataFolder, 'engine.pem'), pem)
      await writeFile(join(dataFolder, 'ca.pem'), ca)
      const ports = { port, securePort, mutualPort }
      await appendFile(properties, renderSecurity({ ...ports, controller, users, properties: more.properties ?? {} }))
      await formatWithUsers(command, users, { logPath: join(dataFolder, 'format.log'), signal })
      return { ...command, env: { ...command.env, JDK_JAVA_OPTIONS: more.javaOptions ?? '' } }
    },
  }))
  const keeper = new kafkajs.Kafka({ brokers: [secured.engine.url], logLevel: kafkajs.logLevel.NOTHING }).admin()
  await keeper.connect()
  return {
    ...secured,
    /** The listener for users; the engine's own address needs no login and allows everything. */
    brokers: `127.0.0.1:${securePort}`,
    /** The listener that knows users by their client certificates. */
    mutualBrokers: `127.0.0.1:${mutualPort}`,
    keeper,
    stop: async (): Promise<void> => {
      await keeper.disconnect()
      await secured.stop()
    },
  }
}

/** Renders security settings, which override earlier ones of the same name. */
type Security = { controller: string } & Record<'port' | 'securePort' | 'mutualPort', number> &
  Readonly<Record<'users' | 'properties', Readonly<Record<string, string>>>>
function renderSecurity(options: Security): string {
  const { port, securePort, mutualPort, controller, users } = options
  const host = '://127.0.0.1:'
  const listener = `PLAINTEXT${host}${port},SECURE${host}${securePort},MUTUAL${host}${mutualPort}`
  const plainUsers = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`)
  const modules = 'org.apache.kafka.common.security'
  const properties = {
    listeners: `${listener},${controller}`,
    'advertised.listeners': listener,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,MUTUAL:SSL',
    'listener.name.secure.sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-512',
    'listener.name.secure.plain.sasl.jaas.config': `${modules}.plain.PlainLoginModule required ${plainUsers.join(' ')};`,
    'listener.name.secure.scram-sha-512.sasl.jaas.config': `${modules}.scram.ScramLoginModule required;`,
    'listener.name.secure.ssl.keystore.type': 'PEM',
    'listener.name.secure.ssl.keystore.location': 'engine.pem',
    'listener.name.mutual.ssl.keystore.type': 'PEM',
    'listener.name.mutual.ssl.keystore.location': 'engine.pem',
    'listener.name.mutual.ssl.truststore.type': 'PEM',
    'listener.name.mutual.ssl.truststore.location': 'ca.pem',
    'listener.name.mutual.ssl.client.auth': 'required',
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
    ...options.properties,
  }
  const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}\n`)
  return lines.join('')
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
  const [server, tool] = ['kafka.Kafka', 'kafka.tools.StorageTool']
  const flags = args.slice(0, args.indexOf(server)).map((flag) => flag.replace(server, tool))
  const format = [tool, 'format', '-t', clusterId, '-c', 'server.properties']
  const command = { ...java, args: [...flags, ...format, ...scram] }
  await runSupervised(command, { what: 'Formatting', logPath, deadlineMs: formatDeadlineMs, signal })
}

const { CREATE, DESCRIBE, DESCRIBE_CONFIGS, READ, WRITE } = kafkajs.AclOperationTypes
const operations: Readonly<Record<string, kafkajs.AclOperationTypes>> = {
  ...{ Create: CREATE, Describe: DESCRIBE, DescribeConfigs: DESCRIBE_CONFIGS, Read: READ, Write: WRITE },
}

/** The ACLs of the project's list: line → entry, with `names` in place of the default ones. */
export async function readAcls(names: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, AclEntry>> {
  const lines = (await readFile('security/kafka-acls.txt', 'utf8')).split('\n').filter((line) => line.startsWith('--'))
  const entryOf = (line: string): AclEntry => {
    const value = (name: string): string | undefined => new RegExp(`--${name} (\\S+)`).exec(line)?.[1]
    const [topic, group] = [value('topic'), value('group')]
    const { PREFIXED, LITERAL } = kafkajs.ResourcePatternTypes
    return {
      ...{ principal: value('allow-principal') ?? '', host: '*', permissionType: kafkajs.AclPermissionTypes.ALLOW },
      operation: operations[value('operation') ?? ''] ?? kafkajs.AclOperationTypes.UNKNOWN,
      resourceType: topic === undefined ? kafkajs.AclResourceTypes.GROUP : kafkajs.AclResourceTypes.TOPIC,
      resourcePatternType: value('resource-pattern-type') === 'prefixed' ? PREFIXED : LITERAL,
      resourceName: names[topic ?? group ?? ''] ?? topic ?? group ?? '',
    }
  }
  return new Map(lines.map((line) => [line, entryOf(line)]))
}
