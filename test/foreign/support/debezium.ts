import { readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Distribution, ensureUnpacked } from '../../../tools/engines/distribution.ts'
import { chooseJdk, consoleLog, findJdks, javaLocale } from '../../../tools/engines/jdk.ts'
import { choosePort } from '../../../tools/engines/ports.ts'
import { type SupervisedProgram, startSupervised } from '../../../tools/engines/supervisedProgram.ts'
import { temporaryFolder } from '../../support/temporaryFolder.ts'

const kafkaVersion = '4.3.1'
const log4j = (artifactId: string) => ({ groupId: 'org.apache.logging.log4j', artifactId, version: '2.24.3' })

/** Kafka Connect with Debezium's connector for PostgreSQL and its router of outbox events. */
const distribution: Distribution = {
  name: `debezium-3.4.1-connect-${kafkaVersion}`,
  artifacts: [
    { groupId: 'org.apache.kafka', artifactId: 'connect-runtime', version: kafkaVersion },
    { groupId: 'io.debezium', artifactId: 'debezium-connector-postgres', version: '3.4.1.Final' },
    { groupId: 'org.slf4j', artifactId: 'slf4j-api', version: '2.0.17' },
    ...['log4j-api', 'log4j-core', 'log4j-slf4j2-impl'].map(log4j),
  ],
  unpack: async ({ fetched }) => fetched,
}
const minJdk = 17
const fetchMs = 10 * 60_000

/** Kafka Connect in standalone mode on loopback, which stores its offsets in a file. */
export type Connect = {
  /** Starts Kafka Connect, also again after `kill`. */
  start(): Promise<void>
  kill(): Promise<void>
  log(): Promise<string>
  close(): Promise<void>
}

/** Prepares a Kafka Connect that runs `connector`, the content of a connector file. */
export async function openConnect(brokers: string, connector: object): Promise<Connect> {
  const jdk = chooseJdk(await findJdks(process.env), minJdk)
  if (jdk === undefined) throw new Error(`no JDK ${minJdk} or later was found`)
  const folder = await temporaryFolder('tidemark-connect-')
  const logPath = join(folder, 'connect.log')
  const signal = AbortSignal.timeout(fetchMs)
  const report = (): void => undefined
  const jars = await ensureUnpacked(resolve('var/engines'), distribution, { jdk, logPath, report, signal })
  const worker = {
    'bootstrap.servers': brokers,
    listeners: `http://127.0.0.1:${await choosePort()}`,
    'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
    'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
    'offset.storage.file.filename': 'offsets',
    'offset.flush.interval.ms': 1_000,
    // The jars are on the class path and declare their plugins.
    'plugin.discovery': 'service_load',
  }
  const properties = Object.entries(worker).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(join(folder, 'worker.properties'), properties.join(''))
  await writeFile(join(folder, 'connector.json'), JSON.stringify(connector))
  await writeFile(join(folder, 'log4j2.properties'), consoleLog(' %p %m (%c)%n%throwable'))
  const quick = ['-Xmx256m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
  const main = ['org.apache.kafka.connect.cli.ConnectStandalone', 'worker.properties', 'connector.json']
  const args = [...quick, '-Dlog4j2.configurationFile=log4j2.properties', '-cp', join(jars, '*'), ...main]
  const command = { command: join(jdk.home, 'bin', 'java'), args, cwd: folder, env: javaLocale }
  let running: SupervisedProgram | undefined
  return {
    start: async () => {
      running = await startSupervised(command, { logPath }, new AbortController().signal)
    },
    kill: async () => {
      if (running === undefined || running.hasEnded()) throw new Error('Kafka Connect does not run')
      process.kill(running.pid, 'SIGKILL')
      await running.ended
    },
    log: () => readFile(logPath, 'utf8'),
    close: async () => {
      await running?.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
