import { join, resolve } from 'node:path'
import { ensureUnpacked } from '../../../tools/engines/distribution.ts'
import { chooseJdk, findJdks } from '../../../tools/engines/jdk.ts'
import { kafkaDistribution, kafkaMinJdk } from '../../../tools/engines/kafka.ts'
import { runSupervised } from '../../../tools/engines/supervisedProgram.ts'

const javaDeadlineMs = 120_000
const unpackingMs = 300_000

/** Runs a Java source file with the client of Kafka's own distribution. */
export async function runWithKafkaJars(folder: string, source: string, programArguments: readonly string[]) {
  const jdk = chooseJdk(await findJdks(process.env), kafkaMinJdk)
  if (jdk === undefined) throw new Error(`no JDK ${kafkaMinJdk} or later was found`)
  const logPath = join(folder, 'java.log')
  const signal = AbortSignal.timeout(unpackingMs)
  const report = (): void => undefined
  const jars = await ensureUnpacked(resolve('var/engines'), kafkaDistribution, { jdk, logPath, report, signal })
  const args = ['-cp', join(jars, '*'), resolve(source), ...programArguments]
  const command = { command: join(jdk.home, 'bin', 'java'), args, cwd: folder, env: {} }
  await runSupervised(command, { what: source, logPath, deadlineMs: javaDeadlineMs, signal })
}
