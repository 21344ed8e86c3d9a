import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readDeadLetter } from '../../indexer/deadLetters/deadLetters.ts'
import { eventually } from '../support/eventually.ts'
import { runCommand } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { recordsOf } from '../support/topics.ts'
import { runWithKafkaJars } from './support/kafkaJars.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'

const { tools, pipeline, api } = usePythonPipeline()
const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const many = Array.from({ length: 20_000 }, (_, at) => [`trace-${at}`, `${at}`] as const)
const headers: readonly (readonly [name: string, value: string | null])[] = [
  ...([
    ['__proto__', 'a'],
    ['repeated', 'first'],
    ['toString', null],
    ['2', 'two'],
    ['1', ''],
    ['repeated', null],
  ] as const),
  ...([
    ['tidemark.topic', 'not this'],
    ['', 'nameless'],
    ['repeated', 'first'],
    ['ä', '✓'],
  ] as const),
  ...many,
]

beforeAll(async () => {
  await pipeline.createKeys(['acme'])
  await writeFile(join(tools.folder, 'headers.json'), JSON.stringify(headers))
})

const programArguments = (): string[] => [
  process.env['KAFKA_BROKERS'] ?? '',
  pipeline.names.TOPIC_FORMS,
  join(tools.folder, 'headers.json'),
]

/** The own headers of every dead letter whose record key begins so, by record key. */
async function ownHeaders(keyStart: string) {
  const letters = (await recordsOf(pipeline.kafka, pipeline.names.TOPIC_DEAD_LETTERS)).map(readDeadLetter)
  const named = letters.filter(({ key }) => String(key).startsWith(keyStart))
  return named.map((letter) => ({
    key: String(letter.key),
    topic: letter.topic,
    headers: [...letter.headers].map(({ name, value }) => [String(name), value && String(value)]),
  }))
}

describePython('Third-party producers', () => {
  test.each([
    ['librdkafka', () => tools.runScript('test/foreign/python/produce_headers.py', programArguments())],
    ['java', () => runWithKafkaJars(tools.folder, 'test/foreign/java/ProduceHeaders.java', programArguments())],
  ])(
    'twenty thousand headers of %s are in a dead letter and its replay, and delay no other record',
    async (client, produce) => {
      await produce()
      const last = stateRecord('forms', `acme/last-${client}`, 1)
      const inEach = [0, 1, 2, 3].map((partition) => ({ ...last, partition }))
      await pipeline.produce('forms', inEach)
      await pipeline.untilApplied(api, 'acme')
      const expected = codecs.map((codec) => ({
        key: `acme/${client}-${codec}`,
        topic: pipeline.names.TOPIC_FORMS,
        headers,
      }))
      const byKey = (a: { key: string }, b: { key: string }): number => (a.key < b.key ? -1 : 1)
      expect((await ownHeaders(`acme/${client}-`)).sort(byKey)).toEqual(expected.sort(byKey))
      const replayed = await runCommand('dead-letters', ['replay', '--all', '--key', `acme/${client}-`], pipeline.names)
      expect(replayed).toMatchObject({ code: 0, stderr: '5 records sent again\n' })
      await eventually(async () => (await ownHeaders(`acme/${client}-`)).length === 10)
      const twice = [...expected, ...expected].sort(byKey)
      expect((await ownHeaders(`acme/${client}-`)).sort(byKey)).toEqual(twice)
    },
  )
})
