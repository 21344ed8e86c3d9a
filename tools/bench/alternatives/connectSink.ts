/**
 * A sink of the field: Aiven's Elasticsearch sink for Kafka Connect, in a standalone worker. Maven brings Kafka Connect and the connector's
 * dependencies. No public Maven repository has the connector: `SINK_SOURCE` names a clone, which is compiled here.
 */
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startLogged } from '../../demo/services.ts'
import { type Distribution, ensureUnpacked } from '../../engines/distribution.ts'
import { chooseJdk, findJdks, type Jdk, javaLocale } from '../../engines/jdk.ts'
import { choosePort } from '../../engines/ports.ts'
import { runSupervised } from '../../engines/supervisedProgram.ts'
import { type Program, untilReleased } from '../program.ts'
import type { Stage } from '../stage.ts'

const repository = 'https://github.com/Aiven-Open/elasticsearch-connector-for-apache-kafka'
const connectVersion = '3.8.1'
const clientVersion = '8.19.0'
const minJdk = 17
const unpackDeadlineMs = 20 * 60_000
const compileDeadlineMs = 120_000
const statusDeadlineMs = 5_000

const kafka = (artifactId: string) => ({ groupId: 'org.apache.kafka', artifactId, version: connectVersion })

/** The connector uses a class that Kafka 3.9 made private, and names a client of Elasticsearch 7 that Elasticsearch 9 refuses. */
const distribution: Distribution = {
  name: `kafka-connect-${connectVersion}-elasticsearch-java-${clientVersion}`,
  artifacts: [
    ...['connect-runtime', 'connect-json', 'connect-transforms'].map(kafka),
    { groupId: 'co.elastic.clients', artifactId: 'elasticsearch-java', version: clientVersion },
    { groupId: 'org.slf4j', artifactId: 'slf4j-reload4j', version: '1.7.36' },
  ],
  unpack: async ({ fetched }) => fetched,
}

/** As in the scripts of Kafka Connect. */
const jvmFlags = [
  ...['-Xms256m', '-Xmx2g', '-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20'],
  ...['-XX:InitiatingHeapOccupancyPercent=35', '-XX:+ExplicitGCInvokesConcurrent'],
]
const logging = `log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
`

export type ConnectSink = { readonly jdk: Jdk; readonly classPath: string; readonly about: string }

/** Compiles the connector. Rejects with what is missing. */
export async function prepareConnectSink({ folder, logsFolder, signal }: Stage): Promise<ConnectSink> {
  const source = process.env['SINK_SOURCE']
  if (source === undefined) throw new Error(`SINK_SOURCE must name a clone of ${repository}`)
  const jdk = chooseJdk(await findJdks(process.env), minJdk)
  if (jdk === undefined) throw new Error(`no JDK ${minJdk} or later was found`)
  const logPath = join(logsFolder, 'sink-build.log')
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(unpackDeadlineMs)])
  const options = { jdk, logPath, report: () => undefined, signal: bounded }
  const distributions = fileURLToPath(new URL('../../../var/engines', import.meta.url))
  const jars = join(await ensureUnpacked(distributions, distribution, options), '*')
  const classes = join(folder, 'data', 'sink-classes')
  const services = join(classes, 'META-INF', 'services')
  await mkdir(services, { recursive: true })
  await cp(join(source, 'src/main/resources'), classes, { recursive: true })
  await writeFile(join(services, 'org.apache.kafka.connect.sink.SinkConnector'), `${connectorClass}\n`)
  const code = join(source, 'src/main/java')
  const files = (await readdir(code, { recursive: true })).filter((name) => name.endsWith('.java'))
  const args = ['-nowarn', '-d', classes, '-cp', jars, ...files]
  const command = { command: join(jdk.home, 'bin', 'javac'), args, cwd: code, env: javaLocale }
  await runSupervised(command, { what: 'javac', logPath, deadlineMs: compileDeadlineMs, signal })
  const about = `Aiven's Elasticsearch sink in Kafka Connect ${connectVersion}, compiled with elasticsearch-java ${clientVersion}`
  return { jdk, classPath: `${classes}:${jars}`, about }
}

const connectorClass = 'io.aiven.connect.elasticsearch.ElasticsearchSinkConnector'

type Task = { readonly name: string; readonly topic: string; readonly elasticsearchUrl: string }

/**
 * A standalone worker that upserts by record key, and deletes, from `topic` into the index `name`. Its consumer group is `connect-<name>`. All other
 * settings have their defaults, such as an offset commit every 60 s, and five bulk requests at once from each task.
 */
export async function startConnectSink(
  { jdk, classPath }: ConnectSink,
  { name, topic, elasticsearchUrl }: Task,
  { folder, logsFolder, urls, signal, release }: Stage,
): Promise<Program> {
  const own = join(folder, 'data', `sink-${name}`)
  const rest = `http://127.0.0.1:${await choosePort()}`
  await mkdir(own, { recursive: true })
  const worker = {
    'bootstrap.servers': urls.KAFKA_BROKERS,
    'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
    'value.converter': 'org.apache.kafka.connect.json.JsonConverter',
    'value.converter.schemas.enable': false,
    'offset.storage.file.filename': 'offsets',
    'plugin.discovery': 'service_load',
    listeners: rest,
  }
  const connector = {
    name,
    'connector.class': connectorClass,
    'tasks.max': 4,
    topics: topic,
    'topic.index.map': `${topic}:${name}`,
    'connection.url': elasticsearchUrl,
    // After the default, 3 s, a request to a busy Elasticsearch fails the task, which stays so until someone restarts it.
    'read.timeout.ms': 60_000,
    'connection.timeout.ms': 10_000,
    'type.name': '_doc',
    'key.ignore': false,
    'schema.ignore': true,
    'behavior.on.null.values': 'delete',
    transforms: 'unwrap',
    'transforms.unwrap.type': 'org.apache.kafka.connect.transforms.ExtractField$Value',
    'transforms.unwrap.field': 'submission',
  }
  await writeFile(join(own, 'worker.properties'), propertiesOf(worker))
  await writeFile(join(own, 'sink.properties'), propertiesOf(connector))
  await writeFile(join(own, 'log4j.properties'), logging)
  const program = ['org.apache.kafka.connect.cli.ConnectStandalone', 'worker.properties', 'sink.properties']
  const args = [...jvmFlags, '-Dlog4j.configuration=file:log4j.properties', '-cp', classPath, ...program]
  const command = { command: join(jdk.home, 'bin', 'java'), args, cwd: own, env: javaLocale }
  const running = untilReleased(await startLogged(`sink-${name}`, command, { logsFolder, signal }), release)
  return {
    ...running,
    expectRunning: async () => {
      await running.expectRunning()
      await expectTasks(`${rest}/connectors/${name}/status`, signal)
    },
  }
}

const propertiesOf = (settings: Readonly<Record<string, string | number | boolean>>): string =>
  Object.entries(settings)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')

/** Kafka Connect does not restart a task that has failed. */
async function expectTasks(url: string, signal: AbortSignal): Promise<void> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(statusDeadlineMs)])
  // A worker that has just started does not answer yet.
  const answer = await fetch(url, { signal: bounded }).catch(() => undefined)
  const text = answer?.status === 200 ? await answer.text() : ''
  if (text.includes('"FAILED"')) throw new Error(`a task of the sink has failed: ${text}`)
}
