import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ensureUnpacked } from '../../tools/engines/distribution.ts'
import { chooseJdk, findJdks } from '../../tools/engines/jdk.ts'
import { kafkaDistribution, kafkaMinJdk } from '../../tools/engines/kafka.ts'
import { runSupervised } from '../../tools/engines/supervisedProgram.ts'
import { formEntity } from '../support/entities.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { jsonLines } from './support/warehouse.ts'

const javaDeadlineMs = 120_000
const unpackingMs = 300_000
const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const modes = ['plain', 'idempotent', 'transactional']
/** Enough for Snappy and LZ4 to make several blocks of one batch. */
const perMode = 40

const { tools, pipeline, api } = usePythonPipeline()

beforeAll(async () => {
  await pipeline.createKeys(['acme'])
  const form = formEntity({ id: '{{id}}', description: 'It is true. '.repeat(500), report: { weights: [1.5, 2.25] } })
  await writeFile(join(tools.folder, 'template.json'), JSON.stringify({ revision: 1, form }))
})

describePython('Producers of others', () => {
  test.each([
    ['librdkafka', () => tools.runScript('test/foreign/python/produce.py', programArguments())],
    ['java', runJava],
  ])(
    'what the client %s produces is served, in every codec, idempotent and in transactions; nothing that it aborts',
    async (client, produce) => {
      await produce()
      await expectServed(client)
    },
  )
})

async function runJava(): Promise<void> {
  const jdk = chooseJdk(await findJdks(process.env), kafkaMinJdk)
  if (jdk === undefined) throw new Error(`no JDK ${kafkaMinJdk} or later was found`)
  const logPath = join(tools.folder, 'java.log')
  const signal = AbortSignal.timeout(unpackingMs)
  const report = (): void => undefined
  const jars = await ensureUnpacked(resolve('var/engines'), kafkaDistribution, { jdk, logPath, report, signal })
  const args = ['-cp', join(jars, '*'), resolve('test/foreign/java/Produce.java'), ...programArguments()]
  const command = { command: join(jdk.home, 'bin', 'java'), args, cwd: tools.folder, env: {} }
  await runSupervised(command, { what: 'Produce.java', logPath, deadlineMs: javaDeadlineMs, signal })
}

const programArguments = (): string[] => [
  process.env['KAFKA_BROKERS'] ?? '',
  pipeline.names['TOPIC_FORMS'] ?? '',
  join(tools.folder, 'template.json'),
  String(perMode),
]

/** Asked after a record of our own that comes last. */
async function expectServed(client: string): Promise<void> {
  const last = { revision: 1, form: formEntity({ id: `last-${client}` }) }
  const partitions = [0, 1, 2, 3]
  await pipeline.produce(
    'forms',
    partitions.map((partition) => ({ key: `acme/last-${client}`, value: JSON.stringify(last), partition })),
  )
  await pipeline.untilApplied(api, 'acme')
  const lines = await fetch(`${api.url}/api/v1/forms`, {
    headers: { authorization: `Bearer ${pipeline.keyOf('acme')}`, accept: 'application/x-ndjson' },
  }).then((answer) => answer.text())
  const ids = jsonLines(lines).map(({ id }) => id as string)
  const wanted = codecs.flatMap((codec) =>
    modes.flatMap((mode) => Array.from({ length: perMode }, (_, number) => `${client}-${codec}-${mode}-${number}`)),
  )
  expect(ids.filter((id) => id.startsWith(`${client}-`)).sort()).toEqual(wanted.sort())
  expect(ids.filter((id) => id.startsWith('aborted-'))).toEqual([])
}
