import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { exampleInput, type ProducedChange, runProducerExample } from '../support/producerExample.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { recordsOf } from '../support/topics.ts'
import { runWithKafkaJars } from './support/kafkaJars.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { jsonLines } from './support/warehouse.ts'

const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const modes = ['plain', 'idempotent', 'transactional']
/** Records per codec and mode: enough for several Snappy and LZ4 blocks per batch. */
const perMode = 40

const { tools, pipeline, api } = usePythonPipeline()

beforeAll(async () => {
  await pipeline.createKeys(['acme'])
  const form = formEntity({ id: '{{id}}', description: 'It is true. '.repeat(500), report: { weights: [1.5, 2.25] } })
  await writeFile(join(tools.folder, 'template.json'), JSON.stringify({ revision: 1, form }))
})

describePython('Third-party producers', () => {
  test.each([
    ['librdkafka', () => tools.runScript('test/foreign/python/produce.py', programArguments())],
    ['java', () => runWithKafkaJars(tools.folder, 'test/foreign/java/Produce.java', programArguments())],
  ])(
    'records of %s are served in every codec and mode, except those of aborted transactions',
    async (client, produce) => {
      await produce()
      await expectServed(client)
    },
  )
})

const programArguments = (): string[] => [
  process.env['KAFKA_BROKERS'] ?? '',
  pipeline.names.TOPIC_FORMS,
  join(tools.folder, 'template.json'),
  String(perMode),
]

/** Expects the client's records to be served, once a record appended after them is served. */
async function expectServed(client: string): Promise<void> {
  const last = stateRecord('forms', `acme/last-${client}`, 1)
  const inEach = [0, 1, 2, 3].map((partition) => ({ ...last, partition }))
  await pipeline.produce('forms', inEach)
  await pipeline.untilApplied(api, 'acme')
  const headers = { authorization: `Bearer ${pipeline.keyOf('acme')}`, accept: 'application/x-ndjson' }
  const lines = await (await fetch(`${api.url}/api/v1/forms`, { headers })).text()
  const ids = jsonLines(lines).map(({ id }) => id as string)
  const wanted = codecs.flatMap((codec) =>
    modes.flatMap((mode) => Array.from({ length: perMode }, (_, number) => `${client}-${codec}-${mode}-${number}`)),
  )
  expect(ids.filter((id) => id.startsWith(`${client}-`)).sort()).toEqual(wanted.sort())
  expect(ids.filter((id) => id.startsWith('aborted-'))).toEqual([])
}

const nameOf = (topic: 'FORMS' | 'SUBMISSIONS'): string => pipeline.names[`TOPIC_${topic}`]
const formChange = (id: string, revision: number, title: string): ProducedChange => {
  return { topic: nameOf('FORMS'), key: `acme/${id}`, value: { revision, form: formEntity({ id, title }) } }
}
const submissionChange = (id: string, formId: string): ProducedChange => {
  const value = { revision: 1, submission: submissionEntity({ id, formId }) }
  return { topic: nameOf('SUBMISSIONS'), key: `acme/${id}`, value }
}
const deletion = (id: string): ProducedChange => ({ topic: nameOf('FORMS'), key: `acme/${id}`, value: null })

/** Transactions: both topics, a change and a late older one, a deletion and a late change after it. */
const transactions = (name: string): ProducedChange[][] => [
  [
    formChange(`${name}-kept`, 1, 'First'),
    formChange(`${name}-gone`, 1, 'Gone'),
    submissionChange(`${name}-s1`, `${name}-kept`),
  ],
  [formChange(`${name}-kept`, 3, 'Zwölf ✓'), formChange(`${name}-kept`, 2, 'Second'), deletion(`${name}-gone`)],
  [formChange(`${name}-gone`, 2, 'Back'), formChange(`${name}-last`, 1, 'Last')],
]
const runTypeScript = (lines: string, id: string): Promise<string> =>
  runProducerExample(process.env['KAFKA_BROKERS'] ?? '', id, lines)

async function runPython(lines: string, id: string): Promise<void> {
  const [input, script] = [join(tools.folder, 'changes.ndjson'), resolve('docs/producers/produce_changes.py')]
  await writeFile(input, lines)
  const redirected = `import runpy, sys; sys.stdin = open(sys.argv.pop(1), encoding='utf-8'); runpy.run_path(sys.argv.pop(1), run_name='__main__')`
  await tools.run('python', ['-c', redirected, input, script, process.env['KAFKA_BROKERS'] ?? '', id])
}

describePython('The producer examples', () => {
  test.each([
    ['TypeScript', runTypeScript],
    ['Python', runPython],
  ])(
    'records of the example in %s are served with their highest revision, and deletions are applied',
    async (name, run) => {
      await run(exampleInput(transactions(name)), `${pipeline.names.INDEX_PREFIX}-${name}`)
      const statusOf = async (path: string): Promise<number> =>
        (await pipeline.get(api, 'acme', `/api/v1/${path}`)).status
      await eventually(async () => (await statusOf(`forms/${name}-last`)) === 200)
      await eventually(async () => (await statusOf(`records/${name}-s1`)) === 200)
      await eventually(async () => {
        const { body } = await pipeline.get(api, 'acme', `/api/v1/forms/${name}-kept`)
        return (body as { title: string }).title === 'Zwölf ✓'
      })
      await eventually(async () => (await statusOf(`forms/${name}-gone`)) === 404)
    },
  )

  test('both examples and KafkaJS send an entity to the same partition', async () => {
    // Several entities, because one could share a partition by chance.
    const ids = Array.from({ length: 20 }, (_, at) => `same-${at}`)
    const changes = (revision: number): ProducedChange[] => ids.map((id) => formChange(id, revision, 'a'))
    await runTypeScript(exampleInput([changes(1)]), `${pipeline.names.INDEX_PREFIX}-same-1`)
    await runPython(exampleInput([changes(2)]), `${pipeline.names.INDEX_PREFIX}-same-2`)
    const third = changes(3).map(({ key, value }) => ({ key, value: JSON.stringify(value) }))
    await pipeline.produce('forms', third)
    const keys = ids.map((id) => `acme/${id}`)
    const records = await recordsOf(pipeline.kafka, nameOf('FORMS'), keys)
    for (const key of keys) {
      const own = records.filter((record) => record.key?.toString() === key)
      expect(own.map(({ value }) => (JSON.parse(String(value)) as { revision: number }).revision)).toEqual([1, 2, 3])
      expect(new Set(own.map(({ partition }) => partition)).size).toBe(1)
    }
  })
})
