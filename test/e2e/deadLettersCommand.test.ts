import { execFile } from 'node:child_process'
import { CompressionTypes, type Message } from 'kafkajs'
import { createTopics } from '../../src/core/kafka/source.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Run, runCommand } from '../support/programs.ts'
import { recordsOf, withAdmin } from '../support/topics.ts'

const pipeline = usePipeline({ forEachTest: true })
const deadLetters = (...args: string[]): Promise<Run> => runCommand('dead-letters', args, pipeline.names)
const nameOf = (topic: 'FORMS' | 'SUBMISSIONS' | 'DEAD_LETTERS'): string => pipeline.names[`TOPIC_${topic}`]
const keysIn = async (topic: string): Promise<string[]> =>
  (await recordsOf(pipeline.kafka, topic)).map(({ key }) => String(key))

/** A dead letter of a record of `topic`. */
const letter = (topic: string, at: number, more: Partial<Message> & { path?: string } = {}): Message => {
  const { path = 'form.title', ...message } = more
  const headers = { path, reason: 'is wrong', topic, partition: '0', offset: String(at), 'dead-lettered-at': 'then' }
  const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [`tidemark.${name}`, value]))
  return { key: `acme/${at}`, value: `value ${at}`, ...message, headers: named }
}

beforeEach(async () => {
  const names = (['FORMS', 'SUBMISSIONS', 'DEAD_LETTERS'] as const).map(nameOf)
  await withAdmin(pipeline.kafka, async (admin) => {
    const topics = names.map((topic) => ({ topic, numPartitions: 1 }))
    await createTopics(admin, topics)
    // A broker that has just started finds no coordinator for a while.
    await admin.describeGroups(['any'])
  })
})

/** Compressed, it takes the broker little. */
async function produceLetters(messages: readonly Message[]): Promise<void> {
  const producer = pipeline.kafka.producer()
  await producer.connect()
  for (const message of messages)
    await producer.send({ topic: nameOf('DEAD_LETTERS'), compression: CompressionTypes.GZIP, messages: [message] })
  await producer.disconnect()
}

test('an operator lists dead letters by a filter, and sends them again by their partition and offset, or all of them', async () => {
  const [forms, submissions] = [nameOf('FORMS'), nameOf('SUBMISSIONS')]
  const second = letter(submissions, 8, { path: 'revision' })
  await produceLetters([letter(forms, 7), second, letter(forms, 9, { key: null })])
  const listed = [
    `0/0\tthen\t${forms}/0/7\tacme/7\tform.title is wrong\n`,
    `0/1\tthen\t${submissions}/0/8\tacme/8\trevision is wrong\n`,
    `0/2\tthen\t${forms}/0/9\t-\tform.title is wrong\n`,
  ]
  expect(await deadLetters('list')).toEqual({ code: 0, stdout: listed.join(''), stderr: '3 dead letters\n' })
  const { stdout } = await deadLetters('list', '--json', '--path', 'revision')
  expect(JSON.parse(stdout)).toEqual({
    ...{ place: '0/1', deadLetteredAt: 'then', topic: submissions, partition: '0', offset: '8' },
    ...{ key: 'acme/8', path: 'revision', reason: 'is wrong' },
  })
  for (const filter of ['--path revision', `--topic ${submissions}`, '--key me/8']) {
    const found = await deadLetters('list', ...filter.split(' '))
    expect(found).toMatchObject({ stdout: listed[1], stderr: '1 dead letters\n' })
  }
  const none = { code: 1, stderr: 'dead-letters: no dead letter at 0/5\n' }
  expect(await deadLetters('replay', '--place', '0/0', '0/5')).toMatchObject(none)
  expect(await deadLetters('replay')).toMatchObject({ code: 1 })
  expect(await keysIn(forms)).toEqual([])
  expect(await deadLetters('replay', '--place', '0/0')).toMatchObject({ code: 0, stderr: '1 records sent again\n' })
  expect(await keysIn(forms)).toEqual(['acme/7'])
  expect(await deadLetters('replay', '--all', '--topic', forms)).toMatchObject({ stderr: '2 records sent again\n' })
  expect(await keysIn(forms)).toEqual(['acme/7', 'acme/7', 'null'])
  expect(await keysIn(submissions)).toEqual([])
})

test('a reader that closes the list early, such as `head`, ends the command without an error', async () => {
  const key = `acme/${'k'.repeat(2_000)}`
  await produceLetters(Array.from({ length: 100 }, (_, at) => letter(nameOf('FORMS'), at, { key })))
  const env = { ...process.env, ...pipeline.names }
  const quiet = '--disable-warning=TimeoutNegativeWarning'
  const pipe = `{ "${process.execPath}" ${quiet} bin/tidemark.ts dead-letters list; echo "code $?" >&2; } | head -n 1`
  const { stdout, stderr } = await new Promise<Pick<Run, 'stdout' | 'stderr'>>((resolve) =>
    execFile('sh', ['-c', pipe], { env }, (_, out, err) => resolve({ stdout: out, stderr: err })),
  )
  expect([stdout.split('\n').length, stderr]).toEqual([2, 'code 0\n'])
})

test('the command has few letters in memory at once, however many and large they are', async () => {
  const [count, value] = [200, 'x'.repeat(900_000)]
  const peakMiB = async (...args: string[]): Promise<number> => {
    const tellPeak = "process.on('exit',()=>process.stderr.write('peak '+process.resourceUsage().maxRSS))"
    const options = { ...pipeline.names, NODE_OPTIONS: `--import "data:text/javascript,${tellPeak}"` }
    const { code, stderr } = await runCommand('dead-letters', args, options)
    expect([code, stderr]).toEqual([0, expect.stringContaining('peak')])
    return Number(/peak (\d+)/.exec(stderr)?.[1]) / 1_024
  }
  const before = await peakMiB('list')
  await produceLetters(Array.from({ length: count }, (_, at) => letter(nameOf('FORMS'), at, { value })))
  // All of them together have more than that.
  for (const args of [['list'], ['replay', '--all']]) expect((await peakMiB(...args)) - before).toBeLessThan(150)
})
